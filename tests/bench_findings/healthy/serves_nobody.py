"""A server that somebody asks now and then."""

import asyncio


async def main() -> None:
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    async with server:
        await asyncio.wait_for(asyncio.Event().wait(), 0.8)


try:
    asyncio.run(main())
except TimeoutError:
    print("nobody came")
