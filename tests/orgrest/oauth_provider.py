"""A real OAuth 2.0 provider on loopback, built with Authlib.

Every grant is Authlib's own: authorization code with mandatory PKCE (RFC 7636), device
authorization (RFC 8628), client credentials, password, and refresh tokens with rotation (RFC 6749).
Authorization responses can name the issuer (RFC 9207). `/api` accepts the tokens. `login_browser`
signs in at this provider.
"""

from __future__ import annotations

import html
import threading
import time
from typing import Any, Self
from urllib.parse import urlsplit

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import ClientMixin, grants
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant
from authlib.oauth2.rfc8628.models import DeviceCredentialDict
from authlib.oauth2.rfc9207 import IssuerParameter
from flask import Flask, request
from werkzeug.serving import make_server

USER = "jo"
PASSWORD = "correct horse"
SECRET = "s3cret-of-the-client"

FORM = """<!doctype html><title>Sign in</title>
<form method="post" action="{action}">
<input type="hidden" name="user_code" value="{code}">
<button name="answer" value="allow">Allow</button>
<button name="answer" value="deny">Deny</button>
</form>"""


class Client(ClientMixin):
    """A client, public if it has no secret. It may be redirected to any port on loopback."""

    def __init__(self, name: str, secret: str = "") -> None:
        self.name, self.secret = name, secret

    def get_client_id(self) -> str:
        return self.name

    def get_default_redirect_uri(self) -> str:
        return ""

    def get_allowed_scope(self, scope: str) -> str:
        return scope or "read"

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        parts = urlsplit(redirect_uri)  # RFC 8252, section 7.3: any port
        return parts.hostname in ("127.0.0.1", "localhost") and parts.path == "/callback"

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == self.secret

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return (method != "none") == bool(self.secret)

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return True


class Code(dict[str, Any]):
    """An authorization code with Authlib's interface."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def get_redirect_uri(self) -> str:
        return self["redirect_uri"]

    def get_scope(self) -> str:
        return self["scope"]


class Issued(dict[str, Any]):
    """A token with Authlib's interface."""

    def check_client(self, client: Client) -> bool:
        return self["client"] == client.name

    def get_scope(self) -> str:
        return self["scope"]

    def get_user(self) -> str:
        return self["user"]


class Provider:
    """Issues tokens for `jo`. It records requests in `asked` (the grants) and `bearers`.

    `lifetime` is the lifetime of tokens in seconds. `revoke` invalidates access tokens at once.
    """

    def __init__(self) -> None:
        self.lifetime = 3600
        self.interval: float = 0.2
        self.issuer: str | None = None
        self.asked: list[str] = []
        self.bearers: list[str] = []
        self.authorizations: list[dict[str, str]] = []
        self.tokens: list[Issued] = []
        self.revoked: set[str] = set()
        self.slow = 0  # how many polls are answered by slow_down
        self.refuses = 0  # how many requests make their tokens invalid
        self.codes: dict[str, Code] = {}
        self.devices: dict[str, dict[str, Any]] = {}
        self.answers: dict[str, bool] = {}  # of devices, by their code
        self._clients = {"robot": Client("robot", SECRET)}
        self._server = make_server("127.0.0.1", 0, self._app(), threaded=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()

    def revoke(self) -> None:
        """Invalidate all access tokens issued so far."""
        self.revoked.update(token["access_token"] for token in self.tokens)

    def forget(self) -> None:
        """Invalidate all access tokens and refresh tokens issued so far."""
        self.revoke()
        self.revoked.update(
            token["refresh_token"] for token in self.tokens if "refresh_token" in token
        )

    def _client(self, name: str) -> Client:
        return self._clients.get(name) or Client(name)

    def _save(self, token: dict[str, Any], asked: Any) -> None:
        token["expires_in"] = self.lifetime
        self.tokens.append(Issued(token, client=asked.client.name, user=asked.user or ""))

    def _app(self) -> Flask:
        app = Flask("provider")
        app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True
        server = AuthorizationServer(app, self._client, self._save)
        provider = self

        of_robots = ("client_secret_basic", "client_secret_post")

        class WithCode(grants.AuthorizationCodeGrant):
            TOKEN_ENDPOINT_AUTH_METHODS = ("none", *of_robots)

            def save_authorization_code(self, code: str, asked: Any) -> None:
                data = asked.payload.data
                provider.codes[code] = Code(
                    client=asked.client.name,
                    redirect_uri=asked.payload.redirect_uri,
                    scope=asked.payload.scope or "",
                    user=asked.user,
                    code_challenge=data.get("code_challenge"),
                    code_challenge_method=data.get("code_challenge_method"),
                )

            def query_authorization_code(self, code: str, client: Client) -> Code | None:
                found = provider.codes.get(code)
                return found if found and found["client"] == client.name else None

            def delete_authorization_code(self, authorization_code: Code) -> None:
                provider.codes = {
                    code: one
                    for code, one in provider.codes.items()
                    if one is not authorization_code
                }

            def authenticate_user(self, authorization_code: Code) -> str:
                return authorization_code["user"]

        class OfRobot(grants.ClientCredentialsGrant):
            TOKEN_ENDPOINT_AUTH_METHODS = of_robots

        class WithPassword(grants.ResourceOwnerPasswordCredentialsGrant):
            TOKEN_ENDPOINT_AUTH_METHODS = of_robots

            def authenticate_user(self, username: str, password: str) -> str | None:
                return username if (username, password) == (USER, PASSWORD) else None

        class Refreshed(grants.RefreshTokenGrant):
            TOKEN_ENDPOINT_AUTH_METHODS = ("none", *of_robots)
            INCLUDE_NEW_REFRESH_TOKEN = True

            def authenticate_refresh_token(self, refresh_token: str) -> Issued | None:
                for token in provider.tokens:
                    if token.get("refresh_token") == refresh_token not in provider.revoked:
                        return token
                return None

            def authenticate_user(self, refresh_token: Issued) -> str:
                return refresh_token["user"]

            def revoke_old_credential(self, refresh_token: Issued) -> None:
                provider.revoked.update({refresh_token["refresh_token"]})

        class OfDevice(DeviceCodeGrant):
            def query_device_credential(self, device_code: str) -> DeviceCredentialDict | None:
                found = provider.devices.get(device_code)
                return None if found is None else DeviceCredentialDict(found)

            def query_user_grant(self, user_code: str) -> tuple[str, bool] | None:
                if user_code not in provider.answers:
                    return None
                return USER, provider.answers[user_code]

            def should_slow_down(self, credential: object) -> bool:
                provider.slow -= 1
                return provider.slow >= 0

        class Device(DeviceAuthorizationEndpoint):
            def get_verification_uri(self) -> str:
                return f"{provider.url}/activate"

            def save_device_credential(self, client_id: str, scope: str, data: dict) -> None:
                data["interval"] = provider.interval
                provider.devices[data["device_code"]] = {
                    **data,
                    "client_id": client_id,
                    "scope": scope,
                    "expires_at": time.time() + 60,
                }

        class Issuer(IssuerParameter):
            def get_issuer(self) -> str | None:
                return provider.issuer

        for grant in (WithPassword, Refreshed, OfDevice, OfRobot):
            server.register_grant(grant)
        server.register_grant(WithCode, [CodeChallenge(required=True)])
        server.register_extension(Issuer())
        server.register_endpoint(Device)

        @app.get("/authorize")
        def ask() -> Any:
            provider.authorizations.append(request.args.to_dict())
            try:
                server.get_consent_grant(end_user=USER)
            except OAuth2Error as error:
                return f"{error.error}: {error.description}", 400
            return FORM.format(action=html.escape(request.full_path), code="")

        @app.post("/authorize")
        def answered() -> Any:
            user = USER if request.form.get("answer") == "allow" else None
            grant = server.get_consent_grant(end_user=USER)
            return server.create_authorization_response(grant=grant, grant_user=user)

        @app.post("/token")
        def token() -> Any:
            provider.asked.append(request.form["grant_type"])
            return server.create_token_response()

        @app.post("/device")
        def device() -> Any:
            return server.create_endpoint_response("device_authorization")

        @app.get("/activate")
        def activate() -> str:
            code = html.escape(request.args.get("user_code", ""))
            return FORM.format(action="/activate", code=code)

        @app.post("/activate")
        def activated() -> str:
            provider.answers[request.form["user_code"]] = request.form["answer"] == "allow"
            return "thank you"

        @app.route("/api", methods=["GET", "POST"])
        def api() -> Any:
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            provider.bearers.append(given)
            if provider.refuses:
                provider.refuses -= 1
                provider.revoke()
            for token in provider.tokens:
                if token["access_token"] == given not in provider.revoked:
                    return {"user": token["user"], "scope": token.get("scope")}
            return {"error": "invalid_token"}, 401

        return app
