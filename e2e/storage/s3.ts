import { createHash, createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { until } from '../harness/poll.ts';
import { host } from './files.ts';
import type { Outside } from '../network/outside.ts';

const BUILD = fileURLToPath(new URL('s3-server.sh', import.meta.url));
const PORT = 9000;
const START_MS = 20_000;
const REGION = 'us-east-1';

/** A server that speaks the S3 API, on an address beyond the host's uplink, with buckets of its own. */
export class S3Server implements AsyncDisposable {
  readonly endpoint: string;
  readonly accessKey = `AKIA${randomBytes(8).toString('hex').toUpperCase()}`;
  readonly secretKey = randomBytes(20).toString('hex');
  readonly #stack = new AsyncDisposableStack();

  private constructor(address: string) {
    this.endpoint = `http://${address}:${PORT}`;
  }

  static async start(outside: Outside, address: string): Promise<S3Server> {
    const program = (await host('bash', BUILD)).trim();
    const server = new S3Server(address);
    const dir = await mkdtemp('/var/tmp/atoll-s3-');
    server.#stack.defer(() => rm(dir, { recursive: true, force: true }));
    const keys = [`ROOT_ACCESS_KEY=${server.accessKey}`, `ROOT_SECRET_KEY=${server.secretKey}`];
    const serve = [program, '--port', `${address}:${PORT}`, 'posix', dir];
    await outside.start(['env', ...keys, ...serve], 'service listening');
    // It says so a moment before it does.
    const listens = () =>
      server.call('GET', '/').then(
        (answer) => Boolean(answer.resume()),
        (error: unknown) => (error as NodeJS.ErrnoException).code !== 'ECONNREFUSED',
      );
    await until('the S3 server listens', listens, START_MS);
    return server;
  }

  /** One request of the API, signed; rejects on what is no success. */
  async call(method: string, path: string, body?: Readable | Buffer): Promise<IncomingMessage> {
    const { host: authority, hostname, port } = new URL(this.endpoint);
    const headers = this.#sign(method, path, authority);
    const call = request({ method, hostname, port, path, headers });
    const answered = once(call, 'response') as Promise<[IncomingMessage]>;
    if (body instanceof Readable) body.pipe(call);
    else call.end(body);
    const [response] = await answered;
    if ((response.statusCode ?? 500) < 300) return response;
    throw new Error(`${method} ${path}: ${response.statusCode} ${(await buffer(response)).toString()}`);
  }

  async makeBucket(name: string): Promise<void> {
    (await this.call('PUT', `/${name}`)).resume();
  }

  async put(key: string, content: Buffer): Promise<void> {
    (await this.call('PUT', `/${key}`, content)).resume();
  }

  async get(key: string): Promise<Buffer> {
    return buffer(await this.call('GET', `/${key}`));
  }

  async sha256(key: string): Promise<string> {
    const hash = createHash('sha256');
    for await (const chunk of await this.call('GET', `/${key}`)) hash.update(chunk as Buffer);
    return hash.digest('hex');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /** Signature version 4, with the body left out of it. */
  #sign(method: string, path: string, authority: string): Record<string, string> {
    const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const day = time.slice(0, 8);
    const headers = { host: authority, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD', 'x-amz-date': time };
    const signed = Object.keys(headers).join(';');
    const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}`);
    const canonical = [method, path, '', ...lines, '', signed, 'UNSIGNED-PAYLOAD'].join('\n');
    const scope = `${day}/${REGION}/s3/aws4_request`;
    const digest = createHash('sha256').update(canonical).digest('hex');
    const key = [day, REGION, 's3', 'aws4_request'].reduce<Buffer | string>(hmac, `AWS4${this.secretKey}`);
    const signature = hmac(key, ['AWS4-HMAC-SHA256', time, scope, digest].join('\n')).toString('hex');
    const credential = `Credential=${this.accessKey}/${scope}`;
    return {
      ...headers,
      authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${signed}, Signature=${signature}`,
    };
  }
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
