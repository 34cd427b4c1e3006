"""Modules that scripts may require behave like Node's; access to the machine is refused.

Node itself is the reference for its own modules.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from components import needs, needs_engine

from orgrest.http.scripts import Engine, ScriptError, ScriptInput
from orgrest.model import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = needs_engine

SAME_AS_NODE = """
require("crypto").createHash("sha256").update("abc").digest("hex")
require("node:crypto").createHash("MD5").update("a").update(Buffer.from("é")).digest("base64")
require("crypto").createHash("sha512").update("6162", "hex").digest("base64url")
require("crypto").createHmac("sha1", "key").update("text").digest("hex")
require("crypto").createHmac("sha256", Buffer.from("ff00", "hex")).update("é").digest("base64")
require("crypto").createHash("sha1").update("x").digest().length
require("crypto").timingSafeEqual(Buffer.from("a"), Buffer.from("b"))
require("crypto").timingSafeEqual(Buffer.from("ab"), Buffer.from("ab"))
require("crypto").randomBytes(9).toString("hex").length
/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())
Buffer.from("héllo").toString("base64")
Buffer.from("aMOpbGxv", "base64").toString()
Buffer.from("a-_b", "base64url").toString("hex")
Buffer.from("a b\\n=", "base64").toString("hex")
Buffer.from("abc1x2", "hex").toJSON()
Buffer.from("é", "latin1").toString("hex")
Buffer.from("é", "utf16le").toString("hex")
Buffer.from([104, 105, 300]).toString()
Buffer.from([255, 97]).toString("utf8")
Buffer.concat([Buffer.from("a"), Buffer.from("b")]).toString()
Buffer.from("abc").slice(1).toString()
Buffer.from("abc").equals(Buffer.from("abc"))
Buffer.from("abc").compare(Buffer.from("abd"))
Buffer.from("hello").indexOf("l")
Buffer.byteLength("é")
Buffer.isBuffer(Buffer.alloc(2))
Buffer.isEncoding("nope")
Buffer.alloc(3, 1).toString("hex")
Buffer.from("a").readUInt8(0)
Buffer.from("01020304", "hex").readUInt32BE(0)
JSON.stringify(Buffer.from("a"))
[...new TextEncoder().encode("é")]
new TextDecoder().decode(new Uint8Array([195, 169]))
btoa("a:b") + atob("YTpi")
new URL("/b/../c?x=1#h", "http://u:p@h:80/a/d").href
new URL("http://h/ä b?ü=1'").toString()
new URL("HTTP://EXAMPLE.org:8080").href
new URL("?q", "http://h/a/b?c#d").href
new URL("../x", "http://h/a/b/c").href
new URL("//o/p", "https://h/").href
new URL("http://h/a?b=c&b=d").searchParams.getAll("b")
[...new URL("http://h/?a=1+2&b=%20").searchParams]
((u) => (u.searchParams.append("q", "a b&c"), u.pathname = "/p q", u.hash = "x", u.href))(new URL("http://h/"))
((u) => (u.port = "81", u.protocol = "https", u.username = "me", u.href))(new URL("http://h/"))
((u) => (u.searchParams.delete("a"), u.href))(new URL("http://h/?a=1"))
((u) => [u.origin, u.host, u.hostname, u.port, u.pathname, u.search, u.hash])(new URL("https://h:443/p?q#r"))
new URLSearchParams({a: "1 2", b: "é!*'()~"}).toString()
new URLSearchParams([["a", "1"], ["a", "2"]]).toString()
((p) => (p.set("a", "3"), p.sort(), [p.get("z"), String(p)]))(new URLSearchParams("?b=1&a=1&a=2"))
URL.canParse("http://")
require("url").parse("https://u:p@h:81/p/q?a=b#c").pathname
require("url").parse("https://h/p?a=b&a=c", true).query.a
require("url").parse("/p?a=b").search
require("url").format({protocol: "https", hostname: "h", port: 81, pathname: "/p", query: {a: 1}})
require("url").resolve("http://h/a/b", "../c")
require("querystring").stringify({a: [1, 2], b: "x y", c: null, d: true, e: []})
require("querystring").parse("a=1&a=2&b=x+y&c&=d&e=%zz")
require("querystring").escape("a b&c")
""".strip().splitlines()

THROWS = """
require("assert")(0, "zero")
require("assert").ok(false, "no")
require("assert").equal(1, 2, "unequal")
require("assert").strictEqual(1, "1", "types")
require("assert").deepStrictEqual({a: [1]}, {a: [2]}, "deep")
require("assert").deepEqual([1, {b: 2}], [1, {b: 3}], "loose")
require("assert").notStrictEqual(1, 1, "same")
require("assert").match("abc", /x/, "pattern")
require("assert").throws(() => 1, "nothing thrown")
require("assert").fail("failed")
require("assert").ifError(new Error("given"))
require("assert/strict").equal(1, "1", "strict")
Buffer.from("a", "nope")
Buffer.from(5) === 1 || new URL("nope")
new URL("http://")
require("crypto").timingSafeEqual(Buffer.from("a"), Buffer.from("ab"))
""".strip().splitlines()

HOLDS = """
require("assert")(1)
require("assert").equal(1, "1")
require("assert").strictEqual(NaN, NaN)
require("assert").deepEqual({a: 1, b: [1, "2"]}, {b: [1, 2], a: "1"})
require("assert").deepStrictEqual(new Map([[1, {a: 1}]]), new Map([[1, {a: 1}]]))
require("assert").deepStrictEqual(new Date(5), new Date(5))
require("assert").notDeepStrictEqual([1], ["1"])
require("assert").throws(() => { throw new TypeError("bad") }, /bad/)
require("assert").throws(() => { throw new TypeError("bad") }, TypeError)
require("assert").throws(() => { throw new TypeError("bad") }, {message: "bad"})
require("assert").doesNotThrow(() => 1)
""".strip().splitlines()


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as running:
        yield running


def ours(engine: Engine, codes: list[str]) -> list[object]:
    lines = [f"tried(() => ({code}));" for code in codes]
    log = engine.run(
        JUDGED + "\n".join(lines), "httpyac", ScriptInput(), Request("GET", "http://a/")
    )
    return [json.loads(line) for line in log.log]


JUDGED = """
function tried(body) {
  let made;
  try {
    const value = body();
    made = value === undefined ? "undefined" : value;
  } catch (error) {
    made = {thrown: error instanceof Error};
  }
  console.log(JSON.stringify(made));
}
"""


@needs("node")
@pytest.mark.parametrize("codes", [SAME_AS_NODE, THROWS, HOLDS])
def test_modules_give_what_node_gives(engine: Engine, codes: list[str]) -> None:
    program = JUDGED + "\n".join(f"tried(() => ({code}));" for code in codes)
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, check=True)
    theirs = [json.loads(line) for line in done.stdout.splitlines()]
    assert dict(zip(codes, ours(engine, codes), strict=True)) == dict(
        zip(codes, theirs, strict=True)
    )


def test_assertions_that_do_not_hold_throw_and_those_that_hold_do_not(engine: Engine) -> None:
    assert ours(engine, THROWS) == [{"thrown": True}] * len(THROWS)
    assert ours(engine, HOLDS) == ["undefined"] * len(HOLDS)


# As chai 4 decides them.
EXPECTATIONS = {
    "expect({a: [1, {b: 2}]}).to.have.nested.property('a[1].b').that.equals(2)": True,
    "expect({a: 1}).to.have.property('a', 2)": False,
    "expect({a: 1}).to.not.have.property('b')": True,
    "expect([1, 2]).to.include(3)": False,
    "expect('abc').to.include('b')": True,
    "expect({a: 1, b: 2}).to.include({a: 1})": True,
    "expect([{a: 1}]).to.deep.include({a: 1})": True,
    "expect([{a: 1}]).to.include({a: 1})": False,
    "expect([1, 2]).to.be.an('array').that.is.not.empty": True,
    "expect([]).to.be.empty": True,
    "expect(1).to.be.a('string')": False,
    "expect({a: 1}).to.eql({a: 1})": True,
    "expect({a: 1}).to.equal({a: 1})": False,
    "expect({a: 1}).to.deep.equal({a: 1})": True,
    "expect([1, 2]).to.have.length.above(1)": True,
    "expect([1, 2]).to.have.lengthOf(3)": False,
    "expect(5).to.be.within(1, 5)": True,
    "expect(5).to.be.at.least(6)": False,
    "expect(5).to.be.below(6)": True,
    "expect(1.5).to.be.closeTo(1.4, 0.2)": True,
    "expect(2).to.be.oneOf([1, 2])": True,
    "expect('abc').to.match(/^b/)": False,
    "expect([3, 1]).to.have.members([1, 3])": True,
    "expect([3, 1, 2]).to.include.members([1, 3])": True,
    "expect([3, 1]).to.have.ordered.members([1, 3])": False,
    "expect({a: 1, b: 2}).to.have.all.keys('a', 'b')": True,
    "expect({a: 1, b: 2}).to.have.all.keys('a')": False,
    "expect({a: 1, b: 2}).to.have.any.keys('a', 'c')": True,
    "expect(null).to.be.null": True,
    "expect(undefined).to.exist": False,
    "expect(0).to.be.ok": False,
    "expect(true).to.be.true": True,
    "expect(() => { throw new TypeError('bad') }).to.throw('ba')": True,
    "expect(() => { throw new TypeError('bad') }).to.throw(RangeError)": False,
    "expect(() => 1).to.not.throw()": True,
    "expect(new Date()).to.be.instanceof(Date)": True,
    "expect(4).to.satisfy((n) => n % 2 === 0)": True,
    "expect(1).to.be.foo": False,
    # What is not a function cannot be called.
    "expect(5)(6)": False,
    "expect(5).to(5)": False,
    "expect(5).to.equal(5).and(6)": False,
    "expect(true).to.be.true()": False,
    "expect([1, 2]).to.have.lengthOf(2).and.above(1)": True,
    "expect([1, 2]).to.include.members([1, 1])": True,
    "expect(new Date(5)).to.be.above(new Date(4))": True,
    "expect({a: 1}).to.not.have.property('b').that.is.undefined": False,
    # With a value or an argument of a wrong type, an assertion fails, and so does its opposite.
    "expect(null).to.be.below(10)": False,
    "expect(undefined).to.not.be.above(5)": False,
    "expect([]).to.be.at.least(0)": False,
    "expect('7').to.be.at.most(7)": False,
    "expect(7).to.be.above('5')": False,
    "expect(new Date(5)).to.be.above(4)": False,
    "expect('7').to.not.be.within(1, 2)": False,
    "expect(1).to.not.be.above()": False,
    "expect(null).to.not.have.lengthOf.above(1)": False,
    "expect({}).to.not.have.lengthOf(1)": False,
    "expect('1').to.be.closeTo(1, 1)": False,
    "expect(1).to.not.be.closeTo(3)": False,
    "expect('x').to.throw()": False,
    "expect('x').to.not.throw()": False,
    "expect(null).to.not.have.property('a')": False,
    "expect({a: 1}).to.not.have.property(undefined)": False,
    "expect(null).to.not.have.keys('a')": False,
    "expect({a: 1}).to.not.have.keys()": False,
    "expect({a: 1}).to.not.have.keys(['a'], 'b')": False,
    "expect({a: 1}).to.contain('')": False,
    "expect(undefined).to.not.include('a')": False,
    "expect(null).to.not.include({a: 1})": False,
    "expect(['a']).to.have.string('a')": False,
    "expect('me').to.not.include.members([1])": False,
    "expect([1]).to.not.have.members('a')": False,
    "expect('a').to.not.be.oneOf('b')": False,
    "expect('a').to.not.be.a(null)": False,
    "assert.isTrue(1)": False,
    "assert.lengthOf('abc', 3)": True,
    "assert.deepEqual([1], [1])": True,
    "assert.isString(5)": False,
}


def test_chais_expectations_hold_where_chai_says_so(engine: Engine) -> None:
    code = "const {expect, assert} = require('chai');\n" + "\n".join(
        f"test({json.dumps(expectation)}, () => {{ {expectation} }});"
        for expectation in EXPECTATIONS
    )
    result = engine.run(code, "httpyac", ScriptInput(), Request("GET", "http://a/"))
    assert {test.name: test.held for test in result.tests} == EXPECTATIONS


def test_dates_are_computed_by_dayjs(engine: Engine) -> None:
    code = (
        "const dayjs = require('dayjs');\n"
        "console.log(dayjs('2024-01-31T12:00:00Z').add(1, 'month').toISOString());\n"
        "console.log(dayjs('2024-01-31T12:00:00').format('YYYY/MM/DD [at] HH:mm'));\n"
        "console.log(dayjs('2024-03-01').diff('2024-02-01', 'day'), dayjs('x').isValid());\n"
    )
    log = engine.run(code, "httpyac", ScriptInput(), Request("GET", "http://a/")).log
    assert log == ("2024-02-29T12:00:00.000Z", "2024/01/31 at 12:00", "29 false")


def test_uuids_of_names_are_those_of_the_standard(engine: Engine) -> None:
    code = (
        "const {v3, v4, v5, v7, validate, version} = require('uuid');\n"
        "console.log(v5('www.example.com', v5.DNS), v3('www.example.com', v3.DNS));\n"
        "console.log(version(v4()), version(v7()), validate('nope'));\n"
    )
    log = engine.run(code, "httpyac", ScriptInput(), Request("GET", "http://a/")).log
    assert log[0] == "2ed6657d-e927-568b-95e1-2665a8aea6a2 5df41881-3aed-3515-88a7-2f4a814cf09e"
    assert log[1] == "4 7 false"


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("fs", "< ./file"),
        ("node:fs/promises", ">> ./file"),
        ("child_process", "--var NAME=VALUE"),
        ("http", "# @name login"),
        ("node:net", "# @name login"),
        ("axios", "# @name login"),
        ("process", "{{$processEnv NAME}}"),
    ],
)
def test_what_needs_the_machine_is_refused_with_what_to_do_instead(
    engine: Engine, name: str, instead: str
) -> None:
    with pytest.raises(ScriptError) as caught:
        engine.run(f"require('{name}')", "httpyac", ScriptInput(), Request("GET", "http://a/"))
    message = (
        f'require("{name}") is not available: scripts cannot access files, the network or programs'
    )
    assert message in caught.value.reason
    assert instead in caught.value.reason


@pytest.mark.parametrize("name", ["createCipheriv", "createSign", "subtle"])
def test_cryptography_that_is_not_there_says_so(engine: Engine, name: str) -> None:
    with pytest.raises(ScriptError, match=f"crypto.{name} is not available: scripts can only use"):
        engine.run(
            f"require('crypto').{name}", "httpyac", ScriptInput(), Request("GET", "http://a/")
        )


def test_random_values_repeat_with_a_seed(engine: Engine) -> None:
    code = (
        "console.log(Math.random(), $random.uuid(), $random.integer(1, 1000000), "
        "$random.alphabetic(8), require('crypto').randomBytes(4).toString('hex'));"
    )

    def log(seed: int | None) -> tuple[str, ...]:
        with Engine() as one:
            return one.run(code, "httpyac", ScriptInput(seed=seed), Request("GET", "http://a/")).log

    assert log(1) == log(1) != log(2)
    assert log(None) != log(None)
