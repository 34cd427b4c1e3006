// An expression in double braces, whose variables are constants.
const {given, keys, responseOf, textOf} = orgrest;
orgrest.load("globals");
return () => {
  const {job, result} = orgrest;
  const constants = Object.create(null);
  constants.$random = orgrest.$random;
  constants.$global = orgrest.load("global")(job.globals);
  constants.require = orgrest.require;
  for (const name of keys(job.variables)) constants[name] = given(name);
  for (const name of keys(job.responses)) constants[name] = responseOf(job.responses[name]);
  // Strict inside, so that an assignment to a constant is an error.
  orgrest.evaluate(
    "(function (constants) { with (constants) { return (async function __script() { " +
    "\"use strict\"; return (" + job.code + "); })(); } })"
  )(Object.freeze(constants)).then((value) => {
    result.text = textOf(value);
    result.value = value instanceof Date || typeof value === "bigint" ? result.text : value;
    orgrest.done();
  }).catch(orgrest.failed);
};
