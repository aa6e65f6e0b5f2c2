import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import Fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger } from 'fastify';
import { jsonSchemaTransformObject, serializerCompiler } from 'fastify-type-provider-zod';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { PTY_PROTOCOL } from '@atoll/contract/pty';
import type { RequestScope } from '../lib/request-context.ts';
import { ApiToken } from './api-token.ts';
import { requireToken } from './auth.ts';
import { describeRoute } from './document.ts';
import { connectionLimits, limitRequests } from './limits.ts';
import type { RequestLimits } from './limits.ts';
import { answerMalformed, requireHost } from './malformed.ts';
import { parseBodies } from './bodies.ts';
import { answerErrors, sendError } from './errors.ts';
import { answerUnknownRoutes } from './not-found.ts';
import { REQUEST_ID_HEADER, requestIdOf } from './request-id.ts';
import { archiveRoutes } from './routes/archives.ts';
import { execStreamRoutes } from './routes/exec-streams.ts';
import { driveRoutes } from './routes/drives.ts';
import { checkpointRoutes } from './routes/checkpoints.ts';
import { execRoutes } from './routes/exec.ts';
import { fileRoutes } from './routes/files.ts';
import { historyRoutes } from './routes/history.ts';
import { imageRoutes } from './routes/images.ts';
import { mountRoutes } from './routes/mounts.ts';
import { nameRoutes } from './routes/names.ts';
import { operationalRoutes } from './routes/operational.ts';
import { previewRoutes, takeEveryMethod } from './routes/preview.ts';
import { poolRoutes } from './routes/pools.ts';
import { ptyRoutes } from './routes/pty.ts';
import { rawFileRoutes } from './routes/raw-files.ts';
import { sandboxRoutes } from './routes/sandboxes.ts';
import { snapshotRoutes } from './routes/snapshots.ts';
import { tunnelRoutes } from './routes/tunnels.ts';
import type { Services } from './services.ts';
import { Upgrades } from './upgrades.ts';
import { validateRequests } from './validation.ts';

export interface AppOptions extends RequestLimits {
  readonly authToken: string | undefined;
  readonly maxBodyBytes: number;
  readonly previewTimeoutMs: number;
  readonly log: FastifyBaseLogger;
  readonly scope: RequestScope;
  readonly version: string;
}

// A sandbox's name has 64 characters at most; a longer path segment still deserves its own 404.
const MAX_PARAM_LENGTH = 1024;

/** The whole HTTP interface, not yet listening. */
export async function buildApp(services: Services, options: AppOptions) {
  const { authToken, maxBodyBytes, log, scope, version } = options;
  const app = Fastify({
    // The framework's own remarks are of no use to whoever runs the daemon; its warnings are.
    loggerInstance: log.child({}, { level: 'warn' }),
    // The log's own mixin names the request, in the domain's lines as well.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIdOf,
    bodyLimit: maxBodyBytes,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, ignoreTrailingSlash: true },
    clientErrorHandler: answerMalformed(options.requestTimeoutMs),
    frameworkErrors: (error, request, reply) => {
      void reply.header(REQUEST_ID_HEADER, request.id);
      sendError(error, request, reply, maxBodyBytes);
    },
    forceCloseConnections: true,
    // Node itself would refuse such a request in its own shape; requireHost does in that of every other error.
    http: {
      ...connectionLimits(options),
      requireHostHeader: false,
      // Any other protocol is not for the daemon: the request is answered as one that asks for none.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
    },
  }).withTypeProvider<ZodTypeProvider>();

  takeEveryMethod(app);
  app.setSerializerCompiler(serializerCompiler);
  validateRequests(app);
  parseBodies(app);
  answerErrors(app, maxBodyBytes);
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header(REQUEST_ID_HEADER, request.id);
    scope.run({ request_id: request.id }, done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request;
    // The route, not the address: a query may hold a token.
    log.debug(
      {
        request_id: request.id,
        method,
        route: routeOptions.url,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'request',
    );
    done();
  });
  limitRequests(app, options);
  requireHost(app);
  const token = authToken === undefined ? undefined : new ApiToken(authToken);
  requireToken(app, token);
  answerUnknownRoutes(app);

  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Atoll',
        version,
        description: 'Boots isolated microVM sandboxes and runs commands in them.',
      },
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      security: [{ token: [] }],
    },
    transform: describeRoute,
    transformObject: jsonSchemaTransformObject,
  });
  await app.register(swaggerUi, { routePrefix: '/docs', logLevel: 'silent' });
  await app.register(operationalRoutes(services));
  await app.register(sandboxRoutes(services));
  await app.register(nameRoutes(services));
  await app.register(poolRoutes(services));
  await app.register(historyRoutes(services));
  await app.register(imageRoutes(services));
  await app.register(driveRoutes(services));
  await app.register(snapshotRoutes(services));
  await app.register(checkpointRoutes(services));
  await app.register(mountRoutes(services));
  await app.register(execRoutes(services));
  const upgrades = new Upgrades(app, [PTY_PROTOCOL]);
  await app.register(execStreamRoutes(services, upgrades));
  await app.register(ptyRoutes(services, upgrades));
  await app.register(tunnelRoutes(services, upgrades));
  await app.register(previewRoutes(services, upgrades, { token, timeoutMs: options.previewTimeoutMs }));
  await app.register(fileRoutes(services));
  await app.register(rawFileRoutes(services));
  await app.register(archiveRoutes(services));
  return app;
}
