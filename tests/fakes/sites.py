"""A small web on loopback: hosts told apart by their names, a neighbour that nobody may reach, and ears for UDP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from core.tools.addresses import Address
from core.tools.web import Visitor

SHOP = """<!doctype html><title>Shop</title><h1>Shop</h1>
<a href="/two">Second page</a> <a href="/two" target="_blank">In a new window</a> <a href="/file">A file</a>
<form action="/order" method="post">
<label>Name <input name="name"></label>
<label>Word <input type="password" name="word" value="hunter  2"></label>
<label>Size <select name="size"><option>Small<option>Large</select></label>
<button>Send</button></form>
<button onclick="setTimeout(() => this.textContent = 'Later', 200)">Now</button>
<button onclick="alert('hello'); this.textContent = 'Alerted'">Ask</button>
<iframe src="/inner"></iframe>"""
PRYING = """<!doctype html><title>Prying</title><ul id="told"></ul>
<img src="http://HOME/img"><script src="http://HOME/script"></script><iframe src="http://HOME/frame"></iframe>
<iframe src="http://inside.org:PORT/frame"></iframe><link rel="preconnect" href="http://HOME">
<script>
const say = (what) => { const li = document.createElement('li'); li.textContent = what; told.append(li) };
const socket = (url, what) => new Promise(done => { const s = new WebSocket(url);
  s.onopen = () => s.send('hi'); s.onmessage = (e) => { say(what + ' ' + e.data); done() };
  s.onerror = () => { say(what + ' failed'); done() } });
(async () => {
  for (const url of ['http://HOME/fetch', 'http://inside.org:PORT/', 'http://localhost:PORT/', 'http://[::1]:PORT/',
                     'http://169.254.169.254/latest', '/to?url=http://HOME/hop'])
    await fetch(url, {mode: 'no-cors'}).then(async r => say('answer ' + r.type + await r.text()), () => say('failed'));
  await socket('ws://HOME/socket', 'home socket');
  await socket('ws://' + location.host + '/socket', 'own socket');
  const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:UDP'}]});
  peer.createDataChannel('x'); await peer.setLocalDescription(await peer.createOffer());
  await new Promise(done => { peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && done();
    setTimeout(done, 700) });
  say('candidates ' + (peer.localDescription.sdp.match(/a=candidate/g) || []).length);
  try { await new WebTransport('https://127.0.0.1:UDP/').ready; say('transport') } catch { say('no transport') }
  say('all told');
})();
</script>"""


@dataclass
class Sites:
    """What was asked of the site (`seen`) and of the neighbour (`pried`), which stands for whatever is at home."""

    port: int = 0
    home: int = 0
    udp: int = 0
    seen: list[tuple[str, str]] = field(default_factory=list)
    posted: list[dict[str, str]] = field(default_factory=list)
    pried: list[str] = field(default_factory=list)
    heard: list[bytes] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)

    @property
    def visitor(self) -> Visitor:
        return Visitor(look_up=self._look_up, allowed=self._allowed)

    async def _look_up(self, host: str, port: int) -> list[str]:
        self.looked_up.append(host)
        return ["10.0.0.1"] if host == "inside.org" else ["127.0.0.1"]

    def _allowed(self, address: Address, port: int) -> bool:
        return str(address) == "127.0.0.1" and port == self.port

    def forget(self) -> None:
        for kept in (self.seen, self.posted, self.pried, self.heard, self.looked_up):
            kept.clear()

    def url(self, path: str, host: str = "one.org") -> str:
        return f"http://{host}:{self.port}{path}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        self.seen.append((request.host, path))
        if path == "/socket":
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    await socket.send_str(f"heard {message.data}")
            return socket
        if path == "/to":
            raise web.HTTPFound(request.query["url"])
        if path == "/order":
            self.posted.append({name: str(value) for name, value in (await request.post()).items()})
            return page("<title>Thanks</title><p>Thank you")
        if path == "/file":
            return web.Response(body=b"x" * 10, headers={"content-disposition": "attachment; filename=a.bin"})
        if path == "/echo":
            return web.Response(text=f"{request.method} {request.path_qs} {(await request.read()).decode()}")
        if path == "/prying":
            told = PRYING.replace("HOME", f"127.0.0.1:{self.home}").replace("PORT", str(self.port))
            return page(told.replace("UDP", str(self.udp)))
        if path == "/long":
            return page("<title>Long</title>" + "<p>word " * 4000)
        if path == "/busy":
            return page("<title>Busy</title><script>while (true) {}</script>")
        if path == "/script":
            return page(
                "<title>Script</title><p id=p>Before<script>p.textContent = 'Made by a script'</script>"
            )
        return page(
            {"/": SHOP, "/inner": "<button>Deep</button>"}.get(path, f"<title>{path}</title><p>Page {path}")
        )


def page(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html")


class _Ears(asyncio.DatagramProtocol):
    def __init__(self, heard: list[bytes]) -> None:
        self._heard = heard

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._heard.append(data)


@asynccontextmanager
async def sites() -> AsyncIterator[Sites]:
    here = Sites()

    async def pry(request: web.Request) -> web.Response:
        here.pried.append(request.path)
        return web.Response(text="the owner's own", headers={"access-control-allow-origin": "*"})

    runners = []
    ports = []
    for answer in (here.answer, pry):
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        runners.append(runner)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ports.append(runner.addresses[0][1])
    here.port, here.home = ports
    ears, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: _Ears(here.heard), local_addr=("127.0.0.1", 0)
    )
    here.udp = ears.get_extra_info("sockname")[1]
    try:
        yield here
    finally:
        ears.close()
        for runner in runners:
            await runner.cleanup()
