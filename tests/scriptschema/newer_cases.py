"""Sources that break a rule about extensions of the original schema, and their repaired versions.

The table has, for each source, the rule, the repaired source, and the first version of Luau that
has the feature.
"""

from __future__ import annotations

from typing import Final

CASES: Final[dict[str, tuple[str, str, str]]] = {
    "const a = 1 a = 2": ("const", "local a = 1 a = 2", "0.711"),
    "const a, b = 1": ("const", "local a, b = 1", "0.711"),
    "const a = 1, 2": ("const", "local a = 1, 2", "0.711"),
    "const a = (f()) a += 1": ("const", "local a = (f()) a += 1", "0.711"),
    "const a, b = (f())": ("const", "local a, b = (f())", "0.711"),
    "const function f() f = 1 end": ("const", "local function f() f = 1 end", "0.711"),
    "const a = 1 b, a = 1, 2": ("const", "local a = 1 b, a = 1, 2", "0.711"),
    "const a = 1 local function f() a = 2 end": (
        *("const", "local a = 1 local function f() a = 2 end", "0.711"),
    ),
    "const function f() end function f() end": (
        *("const", "local function f() end function f() end", "0.721"),
    ),
    "repeat local a if f then continue end const b = 1 until b": (
        *("until", "repeat local a if f then continue end const b = 1 until a", "0.711"),
    ),
    "local x type function f() return x end": (
        *("type-function", "local x type function f() return bit32 end", "0.677"),
    ),
    "local x type function f(a: typeof(x)) end": (
        *("type-function", "local x type function f(a: typeof(bit32)) end", "0.677"),
    ),
    "for i = 1, 2 do type function f() return i end end": (
        *("type-function", "for i = 1, 2 do type function f() return bit32 end end", "0.677"),
    ),
    "while f do type function g() break end end": (
        *("loop", "while f do type function g() do end end end", "0.677"),
    ),
    "@native @native local function f() end": (
        *("attribute", "@native local function f() end", "0.677"),
    ),
    "@[native, native] local function f() end": (
        *("attribute", "@[native] local function f() end", "0.687"),
    ),
    "@nativ local function f() end": ("attribute", "local function f() end", "0.677"),
    '@[deprecated("a")] local function f() end': (
        *("argument", "@[deprecated()] local function f() end", "0.687"),
    ),
    '@[deprecated {usee = "a"}] local function f() end': (
        *("argument", "@[deprecated {}] local function f() end", "0.687"),
    ),
    "@[deprecated {use = 1}] local function f() end": (
        *("argument", "@[deprecated {}] local function f() end", "0.687"),
    ),
    "@[deprecated({}, {})] local function f() end": (
        *("argument", "@[deprecated {}] local function f() end", "0.687"),
    ),
    "export local a = 1 return a": ("export", "local a = 1 return a", "0.723"),
    "export local a = 1 do return end": ("export", "local a = 1 do return end", "0.723"),
    "while f do return end export local a = 1": (
        *("export", "while f do return end local a = 1", "0.723"),
    ),
    "if f then elseif g then else return end export function h() end": (
        *("export", "if f then elseif g then else return end local function h() end", "0.723"),
    ),
    "do export local a = 1 end": ("export", "do local a = 1 end", "0.723"),
    "function f() export local a = 1 end": ("export", "function f() local a = 1 end", "0.723"),
    "function f() export function g() end end": (
        *("export", "function f() local function g() end end", "0.723"),
    ),
    "export local a = 1 export const a = 2": (
        *("export", "export local a = 1 const a = 2", "0.723"),
    ),
    "export local a, a = 1, 2": ("export", "local a, a = 1, 2", "0.723"),
    "export function f() end f = 1": ("const", "local function f() end f = 1", "0.723"),
    "class A end": ("class", "do end", "0.721"),
}

FINE: Final[dict[str, str]] = {
    "const a = 1 do local a = 2 a = 3 end const a = 4": "0.711",
    "const a, b = f() const c, d = ... const e = {} e.x = 1 function e.f() end": "0.711",
    "const function f() return f end f()": "0.711",
    "type function f() local a = 1 return function() return a, f, x end end": "0.677",
    "export const a, b = 1, f() export local c export function g() return a end c = g": "0.723",
    "export type T = number return 1": "0.677",
    '@[deprecated {use = "f", reason = "r"}, native] function t.f() end': "0.687",
    "@checked const function f() end local g = @native function() end": "0.711",
    '@[native(1, nil, "a", {true, x = {}})] local function f() end': "0.687",
    "local a = -9223372036854775807i local b = (5i) == b": "0.715",
    "f<<number>>(1) local a = t.f<<>> t:m<<(number, string), ...any>>()": "0.701",
    "type P<T..., U...> = (T...) -> U... local x: P<(number), (((string)))>": "0.677",
    "type Q<T, U...> = T local x: Q<string, (number)> local y: Q<(number)>": "0.677",
    'f "a" f {1} t:m "b" local a = f [[c]]': "0.677",
}
"""Sources that break no rule, each with the first version of Luau that has all its features."""
