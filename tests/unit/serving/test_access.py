"""Who may look at a served timeline."""

from __future__ import annotations

import pytest

from warpline_app.serving.access import Access, is_local_host


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "LOCALHOST:65535", "[::1]:8000", "[::1]"]
)
def test_this_computer_has_these_names(host: str) -> None:
    assert is_local_host(host)


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8000",
        "evil.example:80@localhost",
        "localhost@evil.example",
        "localhost/evil",
        "localhost:notaport",
        "localhost:70000",
        "localhost:8000 evil.example",
        "[::1",
        "0.0.0.0:8000",
        "2130706433",
        "127.1",
        "lo\ncalhost",
    ],
)
def test_others_are_none_of_them(host: str | None) -> None:
    assert not is_local_host(host)


def cookie_of(header: str | None) -> str:
    assert header is not None
    return header.partition(";")[0]


def test_a_token_works_once_and_its_cookie_for_good() -> None:
    access = Access(8000)
    token = access.token
    header = access.exchange(token)
    assert header is not None
    assert {"HttpOnly", "SameSite=Strict", f"Path={access.folder}"} <= set(header.split("; "))
    assert access.knows(cookie_of(header))
    assert access.exchange(token) is None
    assert access.token != token
    assert cookie_of(access.exchange(access.token)) == cookie_of(header)


@pytest.mark.parametrize("token", ["", "x", "é", "\0", "a" * 10_000])
def test_other_tokens_are_worth_nothing(token: str) -> None:
    access = Access(8000)
    before = access.token
    assert access.exchange(token) is None
    assert access.token == before


def test_other_cookies_are_worth_nothing() -> None:
    access = Access(8000)
    value = cookie_of(access.exchange(access.token))
    # Other servers of this computer set cookies that are no cookies by the book.
    for other in (
        "other=1",
        'prefs={"a":1,"b":2}',
        "x[y]=1",
        "flag",
        "k/1=2",
        "warpline-8000=old",
        "a" * 9000,
    ):
        assert access.knows(f"{other}; {value}"), other
    for cookies in (
        None,
        "",
        "warpline-8000=",
        f"warpline-8000={access.token}",
        value.replace("8000", "8001"),
        value + "x",
        "=;=;,",
        "warpline-8000=é",
    ):
        assert not access.knows(cookies), cookies
    assert not Access(8000).knows(value)
