"""The addresses at which phones reach a server."""
import socket
from types import SimpleNamespace

import psutil
import pytest
import streamlit as st

from core.base import deployment
from core.components import addresses


def interface(*found: tuple[int, str]):
    return [SimpleNamespace(family=family, address=address) for family, address in found]


@pytest.fixture
def networks(monkeypatch):
    """A machine in two networks, one of them with an address of the internet; neither is known as its way out."""
    monkeypatch.setattr(addresses, "way_out", lambda: None)
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {
        "lo": interface((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")),
        "wlan": interface((socket.AF_INET, "192.168.1.20"), (socket.AF_INET6, "fe80::1%wlan")),
        "lan": interface((socket.AF_INET, "203.0.113.7")), "off": interface((socket.AF_INET, "169.254.3.4"))})


@pytest.mark.parametrize(("page", "expected"), [
    ("http://localhost:8501/heads?prompt=a", ["http://192.168.1.20:8501", "http://203.0.113.7:8501"]),
    ("http://127.0.0.1:8501/", ["http://192.168.1.20:8501", "http://203.0.113.7:8501"]),
    ("https://school.example/app/heads", ["https://school.example"]),
    ("http://192.168.7.7:8501/", ["http://192.168.7.7:8501"])])
def test_a_page_of_this_machine_alone_is_reached_by_the_addresses_of_its_networks(networks, page, expected):
    assert addresses.reachable(page) == expected


def test_phones_are_told_the_address_of_the_way_out_first_and_of_virtual_networks_last(monkeypatch):
    found = {"docker0": "172.17.0.1", "vEthernet (WSL)": "172.28.0.1", "tun0": "10.8.0.2", "eth1": "10.0.0.5",
             "wlan0": "192.168.1.20"}
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {name: interface((socket.AF_INET, address))
                                                         for name, address in found.items()})
    monkeypatch.setattr(addresses, "way_out", lambda: "192.168.1.20")
    assert addresses.of_networks() == ["192.168.1.20", "10.0.0.5", "10.8.0.2", "172.17.0.1", "172.28.0.1"]
    monkeypatch.setattr(addresses, "way_out", lambda: "10.8.0.2")      # all that leaves the machine is tunnelled
    assert addresses.of_networks()[:2] == ["10.8.0.2", "10.0.0.5"]


def test_an_address_of_the_new_kind_stands_in_brackets(monkeypatch):
    options = {"server.address": "::1", "browser.serverPort": 8608}
    monkeypatch.setattr(st, "get_option", options.get)
    assert addresses.of_server() == ["http://[::1]:8608"]
    options |= {"server.address": "0.0.0.0", "server.sslCertFile": "x", "server.baseUrlPath": "/class/one/"}
    monkeypatch.setattr(addresses, "way_out", lambda: "192.168.1.20")
    assert addresses.of_server() == ["https://localhost:8608/class/one", "https://192.168.1.20:8608/class/one"]
    monkeypatch.setattr(addresses, "way_out", lambda: None)
    assert addresses.of_server() == ["https://localhost:8608/class/one"]


def test_a_machine_without_a_network_and_a_server_that_listens_here_alone_have_one_address(monkeypatch, networks):
    monkeypatch.setattr(st, "get_option", lambda name: "127.0.0.1" if name == "server.address" else "")
    assert addresses.reachable("http://localhost:8501/") == ["http://localhost:8501"]
    monkeypatch.undo()
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"lo": interface((socket.AF_INET, "127.0.0.1"))})
    assert addresses.reachable("http://localhost:8501/") == ["http://localhost:8501"]


def test_what_the_operator_has_set_is_the_only_address(monkeypatch, networks):
    monkeypatch.setenv(deployment.ADDRESS, "https://transformer.school.example")
    assert addresses.reachable("http://localhost:8501/") == ["https://transformer.school.example"]
