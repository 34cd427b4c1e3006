// $global lives as long as the run: what other scripts made of it comes as JSON.
const {has, keys, stringify} = orgrest;
const $global = {};
return (now) => {
  for (const name of keys($global)) {
    if (stringify($global[name]) !== undefined && !has(now, name)) delete $global[name];
  }
  for (const name of keys(now)) {
    if (stringify($global[name]) !== stringify(now[name])) $global[name] = now[name];
  }
  return $global;
};
