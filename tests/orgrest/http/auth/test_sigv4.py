"""AWS signatures: the published test suite, S3's documented example, and what a server receives."""

from __future__ import annotations

import pytest
from servers import RawServer, response

from orgrest.http.auth.sigv4 import AwsCredentials, sign
from orgrest.http.parsing import request_file
from orgrest.http.transport.client import Client
from orgrest.http.transport.wire import wire_headers
from orgrest.http.values import Context, expand
from orgrest.model import ExpansionError, Headers, Request, TransportError

# https://docs.aws.amazon.com/general/latest/gr/signature-v4-test-suite.html
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
SUITE = AwsCredentials("AKIDEXAMPLE", SECRET, "", "us-east-1", "service")
DATE = ("X-Amz-Date", "20150830T123600Z")
FORM = ("Content-Type", "application/x-www-form-urlencoded")


def signature(headers: Headers) -> str:
    return dict(headers)["Authorization"].rpartition("=")[2]


@pytest.mark.parametrize(
    ("method", "target", "headers", "body", "expected"),
    [
        ("GET", "/", (), b"", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", "/", (), b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            "GET",
            "/?Param2=value2&Param1=value1",
            (),
            b"",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "GET",
            "/./example",
            (),
            b"",
            "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
        ),
        (
            "GET",
            "//example//",
            (),
            b"",
            "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
        ),
        (
            "GET",
            "/example/..",
            (),
            b"",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "GET",
            "/",
            (("My-Header1", " value1"), ("My-Header2", ' "a   b   c"')),
            b"",
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
        ),
        (
            "POST",
            "/",
            (FORM,),
            b"Param1=value1",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ],
)
def test_signatures_are_those_of_awss_test_suite(
    method: str, target: str, headers: Headers, body: bytes, expected: str
) -> None:
    found = sign(SUITE, method, "example.amazonaws.com", target, (*headers, DATE), body)
    assert signature(found) == expected


def test_a_request_to_s3_is_signed_as_its_documentation_does() -> None:
    keys = AwsCredentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    headers = (("Range", "bytes=0-9"), ("X-Amz-Date", "20130524T000000Z"))
    found = sign(keys, "GET", "examplebucket.s3.amazonaws.com", "/test.txt", headers, b"")
    assert signature(found) == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    assert dict(found)["X-Amz-Content-Sha256"].startswith("e3b0c44298fc1c149afbf4c8996fb924")


@pytest.mark.parametrize(
    ("host", "scope"),
    [
        ("iam.amazonaws.com", "us-east-1/iam"),
        ("ec2.eu-west-1.amazonaws.com", "eu-west-1/ec2"),
        ("b.s3.eu-west-1.amazonaws.com", "eu-west-1/s3"),
        ("x.execute-api.us-gov-west-1.amazonaws.com:443", "us-gov-west-1/execute-api"),
        ("email.eu-west-1.amazonaws.com", "eu-west-1/ses"),
        ("ec2.cn-north-1.amazonaws.com.cn", "cn-north-1/ec2"),
        ("search-logs.eu-west-1.es.amazonaws.com", "eu-west-1/es"),
        ("x.eu-west-1.aoss.amazonaws.com", "eu-west-1/aoss"),
        ("b.s3-eu-west-1.amazonaws.com", "eu-west-1/s3"),
        ("s3-eu-west-1.amazonaws.com", "eu-west-1/s3"),
        ("b.s3.dualstack.eu-west-1.amazonaws.com", "eu-west-1/s3"),
        ("b.s3-fips.dualstack.us-east-2.amazonaws.com", "us-east-2/s3"),
        ("logs.eu-west-1.s3.amazonaws.com", "us-east-1/s3"),
        ("eu-west-1.s3-accelerate.amazonaws.com", "us-east-1/s3"),
        ("s3.amazonaws.com", "us-east-1/s3"),
    ],
)
def test_region_and_service_are_found_in_the_hosts_name(host: str, scope: str) -> None:
    found = dict(sign(AwsCredentials("K", "S"), "GET", host, "/", (DATE,), b""))
    assert f"/20150830/{scope}/aws4_request" in found["Authorization"]


def test_a_host_that_does_not_tell_the_region_is_an_error_that_says_what_to_write() -> None:
    request = Request("GET", "http://localhost/", credentials=AwsCredentials("K", "S"))
    with pytest.raises(TransportError, match="region:REGION service:SERVICE"):
        wire_headers(request)
    with pytest.raises(TransportError, match="like 20150830T123600Z"):
        sign(SUITE, "GET", "a", "/", (("X-Amz-Date", "today"),), b"")


@pytest.mark.parametrize(
    "named", ["token:T0KEN9 region:r service:s", "service: s token: T0KEN9 region: r"]
)
def test_a_request_file_signs_what_the_server_gets_and_hides_the_keys(named: str) -> None:
    with RawServer(response(b"ok")) as server, Client() as client:
        text = f"POST {server.url}/a?b=c\nAuthorization: AWS AKID se=cret {named}\n\nhello\n"
        request = expand(request_file.parse(text).requests[0], Context())
        assert {"se=cret", "T0KEN9"} <= request.secrets
        client.send(request)
        lines = server.requests[0].partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    sent = dict(line.split(": ", 1) for line in lines)
    keys = AwsCredentials("AKID", "se=cret", "T0KEN9", "r", "s")
    moment = (("X-Amz-Date", sent["X-Amz-Date"]),)
    again = sign(keys, "POST", sent["Host"], "/a?b=c", moment, b"hello")
    assert dict(again)["Authorization"] == sent["Authorization"]
    assert sent["X-Amz-Security-Token"] == "T0KEN9"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token" in sent["Authorization"]


def test_keys_that_are_not_understood_are_an_error_and_not_sent() -> None:
    parsed = request_file.parse("GET http://a\nAuthorization: AWS key secret what\n").requests[0]
    with pytest.raises(ExpansionError, match="AWS credentials must be"):
        expand(parsed, Context())


def test_the_older_signature_goes_as_it_is_written() -> None:
    parsed = request_file.parse("GET http://a\nAuthorization: AWS AKID:signature\n").requests[0]
    assert expand(parsed, Context()).header("Authorization") == "AWS AKID:signature"
