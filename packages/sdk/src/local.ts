/** What needs files and TCP. A bundle for browsers has no-local.ts in its place. */
export { openSource, saveFile } from './local/folder.ts';
export { carryTunnel } from './local/tunnel.ts';
export { unpackFolder } from './local/unpack.ts';
export { openWebSocket } from './local/web-socket.ts';
