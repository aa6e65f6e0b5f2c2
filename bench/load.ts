import { Agent, get } from 'node:http';

/** Requests a second that a URL answers, asked over this many connections for this long. Rejects when one is not answered 200. */
export async function requestRate(url: string, connections: number, forMs: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const end = performance.now() + forMs;
  let answered = 0;
  const ask = () =>
    new Promise<void>((resolve, reject) => {
      get(url, { agent }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
        response.resume().once('end', resolve).once('error', reject);
      }).once('error', reject);
    });
  try {
    const started = performance.now();
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (performance.now() < end) {
          await ask();
          answered += 1;
        }
      }),
    );
    return answered / ((performance.now() - started) / 1000);
  } finally {
    agent.destroy();
  }
}
