/** The floors of ARCHITECTURE.md: http -> domain -> ports <- adapters, with lib and contract under all of them. */
const daemon = 'packages/daemon/src';

/** Tests and what they stand on may look anywhere. */
const tests = ['\\.(test|contract)\\.ts$', `^${daemon}/testing/`];

const forbid = (name, comment, from, to) => ({
  name,
  severity: 'error',
  comment,
  from: { ...from, pathNot: [...tests, ...(from.pathNot ?? [])] },
  to,
});

module.exports = {
  forbidden: [
    forbid('no-circular', 'Arrows go one way.', {}, { circular: true }),
    forbid(
      'contract-stands-alone',
      'The wire truth knows nothing of who serves it.',
      { path: '^packages/contract/' },
      { path: '^packages/(?!contract/)' },
    ),
    forbid(
      'sdk-stands-alone',
      'Clients know the OpenAPI document alone: neither the daemon nor the contract.',
      { path: '^packages/sdk/src/' },
      { path: '^packages/(?!sdk/src/)' },
    ),
    forbid(
      'sdk-local-apart',
      'What needs files and TCP is loaded by platform.ts alone, or asked for by name: browsers have none of it.',
      { path: '^packages/sdk/src/', pathNot: ['^packages/sdk/src/(local/|(local|platform|trees)\\.ts$)'] },
      { path: '^packages/sdk/src/local' },
    ),
    forbid(
      'cli-by-the-sdk',
      'The command speaks to the daemon by the SDK, as any program can.',
      { path: '^packages/cli/src/' },
      { path: '^packages/(?!cli/|sdk/src/(index|trees)\\.ts$)' },
    ),
    forbid(
      'lib-has-no-opinion',
      'lib knows no sandboxes: it imports nothing of the daemon.',
      { path: `^${daemon}/lib/` },
      { path: `^${daemon}/(?!lib/)` },
    ),
    forbid(
      'ports-are-words',
      'A port is an interface in the words of the domain.',
      { path: `^${daemon}/ports/` },
      { path: `^${daemon}/(?!ports/|lib/)` },
    ),
    forbid(
      'domain-knows-only-ports',
      'The domain knows no HTTP and no adapter.',
      { path: `^${daemon}/domain/` },
      { path: `^${daemon}/(?!domain/|ports/|lib/)` },
    ),
    forbid(
      'http-calls-domain',
      'A handler parses, calls one domain function, answers.',
      { path: `^${daemon}/http/` },
      { path: `^${daemon}/(?!http/|domain/|lib/)` },
    ),
    forbid(
      'adapters-implement-ports',
      'An adapter knows its port and lib.',
      { path: `^${daemon}/adapters/` },
      { path: `^${daemon}/(?!adapters/|ports/|lib/)` },
    ),
    forbid(
      'adapters-apart',
      'Adapters never import each other.',
      { path: `^${daemon}/adapters/([^/]+)/` },
      { path: `^${daemon}/adapters/`, pathNot: `^${daemon}/adapters/$1/` },
    ),
    forbid(
      'only-compose-wires',
      'compose.ts alone names concrete adapters.',
      {
        path: `^${daemon}/`,
        pathNot: [`^${daemon}/adapters/`, `^${daemon}/compose\\.ts$`],
      },
      { path: `^${daemon}/adapters/` },
    ),
    forbid(
      'testing-is-for-tests',
      'What tests stand on is no part of the daemon.',
      { path: `^${daemon}/` },
      { path: `^${daemon}/testing/` },
    ),
    forbid(
      'e2e-is-black-box',
      'e2e tests speak HTTP only.',
      { path: '^e2e/' },
      { path: '^packages/daemon/' },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@atoll/source', 'import', 'node', 'types'],
    },
  },
};
