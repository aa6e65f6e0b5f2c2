// Written by `npm run generate` from spec/openapi.json: what the daemon takes and answers.

export interface paths {
  '/healthz': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'text/plain': string;
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/metrics': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'text/plain': string;
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: {
          /** @description Any number of these, of any key: all must match. */
          'tag.<key>'?: string;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['SandboxList'];
          };
        };
      };
    };
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['CreateSandbox'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['SandboxId'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['Sandbox'];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete: {
      parameters: {
        query?: {
          /** @description true keeps its memory and disk as a snapshot; false destroys it with all it holds. */
          keep?: 'true' | 'false';
        };
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['Stopped'];
          };
        };
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/by-name/{name}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Name of the sandbox. */
          name: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['SandboxId'];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/get-or-create': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['GetOrCreate'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['GotOrCreated'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/pools': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['PoolList'];
          };
        };
      };
    };
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['CreatePool'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['Pool'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/pools/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    delete: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id of the pool. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/history': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: {
          /** @description true leaves out what has ended. */
          live_only?: 'true' | 'false';
          /** @description How many at most, 1 to 1000; the default is 100. */
          limit?: string;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['HistoryList'];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/images': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['ImageList'];
          };
        };
      };
    };
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['RegisterImage'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['Image'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/images/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    delete: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id of the image. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/drives': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['DriveList'];
          };
        };
      };
    };
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['CreateDrive'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['Drive'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/drives/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    delete: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id of the drive. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/snapshot': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['SnapshotId'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/snapshots': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: {
          /** @description The sandbox it was taken of. */
          source_sandbox_id?: string;
          /** @description The snapshot that sandbox came from. */
          parent_snapshot_id?: string;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['SnapshotList'];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/snapshots/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    delete: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id of the snapshot. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/snapshots/{id}/resume': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: {
          /** @description false deletes the checkpoint instead of retiring it into history. */
          retain_history?: 'true' | 'false';
          /** @description true gives the sandbox a network address, MAC, hostname and machine-id of its own. It keeps the name if that is free. */
          fresh_identity?: 'true' | 'false';
        };
        header?: never;
        path: {
          /** @description Id of the snapshot. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['SandboxId'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/snapshots/{id}/fork': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: {
          /** @description true gives the sandbox a network address, MAC, hostname and machine-id of its own. It keeps the name if that is free. */
          fresh_identity?: 'true' | 'false';
        };
        header?: never;
        path: {
          /** @description Id of the snapshot. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['SandboxId'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/snapshots/{id}/clone': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id of the snapshot. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['CloneRequest'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['CloneList'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/snapshots/history': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: {
          /** @description The sandbox it was taken of. */
          source_sandbox_id?: string;
          /** @description The snapshot that sandbox came from. */
          parent_snapshot_id?: string;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['CheckpointList'];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/snapshots/history/{id}/restore': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: {
          /** @description true gives the sandbox a network address, MAC, hostname and machine-id of its own. It keeps the name if that is free. */
          fresh_identity?: 'true' | 'false';
        };
        header?: never;
        path: {
          /** @description Id of the snapshot. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['SandboxId'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/snapshots/history/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    delete: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id of the snapshot. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    options?: never;
    head?: never;
    patch: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id of the snapshot. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['PinCheckpoint'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['Checkpoint'];
          };
        };
      };
    };
    trace?: never;
  };
  '/snapshots/history/prune': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['PruneRequest'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['Pruned'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/mounts': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['MountList'];
          };
        };
      };
    };
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['CreateMount'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['Mount'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/mounts/{mount_id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    delete: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Id of the mount. */
          mount_id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/exec': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['ExecRequest'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['ExecResult'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/exec-stream': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['ExecStreamList'];
          };
        };
      };
    };
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['ExecStreamRequest'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['ExecStreamId'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/exec-stream/{session_id}/logs': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: {
          /** @description The API token, for clients that cannot set headers. */
          token?: string;
        };
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Id of the session. */
          session_id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description The connection is a WebSocket now (RFC 6455). */
        101: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/exec-stream/{session_id}/stdin': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Id of the session. */
          session_id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['StdinRequest'];
        };
      };
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/exec-stream/{session_id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    delete: {
      parameters: {
        query?: {
          /** @description Signal for the process group of the command. */
          signal?: string;
        };
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Id of the session. */
          session_id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/pty': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: {
          /** @description The API token, for clients that cannot set headers. */
          token?: string;
          /** @description Columns. */
          cols?: number;
          /** @description Rows. */
          rows?: number;
        };
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description The connection is a WebSocket now (RFC 6455). */
        101: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/tunnel': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['CreateTunnel'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['Tunnel'];
          };
        };
      };
    };
    delete: {
      parameters: {
        query: {
          /** @description Id of the tunnel. */
          tunnel_id: string;
        };
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/tunnel/{tunnel_id}/ws': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: {
          /** @description The API token, for clients that cannot set headers. */
          token?: string;
        };
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Id of the tunnel. */
          tunnel_id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description The connection is a WebSocket now (RFC 6455). */
        101: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/tunnel/{tunnel_id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    delete: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Id of the tunnel. */
          tunnel_id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/preview/{port}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    put: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    delete: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    options: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    head: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    patch: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    trace?: never;
  };
  '/sandboxes/{id}/preview/{port}/{*}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
          /** @description Path at the server. */
          '*': string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    put: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
          /** @description Path at the server. */
          '*': string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
          /** @description Path at the server. */
          '*': string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    delete: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
          /** @description Path at the server. */
          '*': string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    options: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
          /** @description Path at the server. */
          '*': string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    head: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
          /** @description Path at the server. */
          '*': string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    patch: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
          /** @description Port inside the sandbox. */
          port: string;
          /** @description Path at the server. */
          '*': string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: never;
    };
    trace?: never;
  };
  '/sandboxes/{id}/write-file': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['WriteFileRequest'];
        };
      };
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/chmod': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['ChmodRequest'];
        };
      };
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/chown': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['ChownRequest'];
        };
      };
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/mkdir': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['MkdirRequest'];
        };
      };
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/rename': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['FromToRequest'];
        };
      };
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/copy': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['FromToRequest'];
        };
      };
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/symlink': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['SymlinkRequest'];
        };
      };
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/truncate': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['TruncateRequest'];
        };
      };
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/read-file': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['PathRequest'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['ReadFileResult'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/readlink': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['PathRequest'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['ReadlinkResult'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/list-dir': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['PathRequest'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/json': components['schemas']['ListDirResult'];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/files': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query: {
          /** @description Path inside the sandbox. */
          path: string;
        };
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/octet-stream': unknown;
          };
        };
      };
    };
    put: {
      parameters: {
        query: {
          /** @description Path inside the sandbox. */
          path: string;
        };
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/sandboxes/{id}/archive': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get: {
      parameters: {
        query: {
          /** @description Path of a directory inside the sandbox; reading takes that of a single file too. */
          path: string;
        };
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Default Response */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            'application/x-tar': unknown;
          };
        };
      };
    };
    put: {
      parameters: {
        query: {
          /** @description Path of a directory inside the sandbox; reading takes that of a single file too. */
          path: string;
        };
        header?: never;
        path: {
          /** @description Id or name of the sandbox. */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done; no body. */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
      };
    };
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    Checkpoint: {
      /** Format: uuid */
      id: string;
      /** Format: uuid */
      source_sandbox_id: string;
      created_at_unix: number;
      retired_at_unix: number;
      name: string | null;
      tags: {
        [key: string]: string;
      };
      parent_snapshot_id: string | null;
      /** @description Whether the limits on history leave it alone. */
      pinned: boolean;
      /** @description Disk space that a deletion would give back now: what no other snapshot or sandbox shares. */
      size_bytes: number;
    };
    CheckpointList: {
      checkpoints: components['schemas']['Checkpoint'][];
    };
    ChmodRequest: {
      path: string;
      /** @description Permission bits as a number: 0o644 is 420. */
      mode: number;
    };
    ChownRequest: {
      path: string;
      uid: number;
      gid: number;
    };
    CloneList: {
      sandboxes: (components['schemas']['SandboxId'] | components['schemas']['Error'])[];
    };
    CloneRequest: {
      count: number;
      /** @description Names the clones <prefix>-1, <prefix>-2 and so on; without it they have no names. */
      name_prefix?: string | null;
      /** @description The snapshot's own when absent. */
      tags?: {
        [key: string]: string;
      } | null;
    };
    CreateDrive: {
      /** @description Size in MiB. Room on the host is taken as it is written. */
      size_mib: number;
    };
    CreateMount: {
      /** @description Name of the bucket; a path below it may follow. */
      bucket: string;
      /** @description Full URL of the object store; there is no default. */
      endpoint: string;
      access_key: string;
      /** @description Written into the guest, and kept nowhere else. */
      secret_key: string;
      /** @description Where in the guest; made with its parents if it is missing. */
      mount_path: string;
      /** @description The default is false. */
      read_only?: boolean | null;
    };
    CreatePool: {
      /** @description Its name, which no other pool has. */
      id: string;
      /** @description The image its instances boot from; the default is the base one. */
      image_id?: string | null;
      /** @description Virtual CPUs; the default is SERVICE_VCPU_COUNT. */
      vcpu_count?: number | null;
      /** @description Memory in MiB; the default is SERVICE_MEM_SIZE_MIB. */
      mem_size_mib?: number | null;
      /** @description How many instances are to be ready: a target. 0 keeps none. */
      warm_count: number;
      /** @description How many instances there are at most, ready and claimed; a create beyond that waits. */
      max_count?: number | null;
    };
    CreateSandbox: {
      /** @description Unique among live sandboxes; works wherever an id does. */
      name?: string | null;
      /** @description Filterable at list time. */
      tags?: {
        [key: string]: string;
      } | null;
      /** @description Virtual CPUs; the default is SERVICE_VCPU_COUNT. */
      vcpu_count?: number | null;
      /** @description Memory in MiB; the default is SERVICE_MEM_SIZE_MIB. */
      mem_size_mib?: number | null;
      /** @description A registered image to boot from, not the default root file system. */
      image_id?: string | null;
      /** @description Drives to attach; mounted at /mnt/drives/<id>. */
      drives?: components['schemas']['DriveRequests'] | null;
      /** @description Limits of I/O; the default is none. */
      rate_limit?: components['schemas']['RateLimit'] | null;
      /** @description What it may reach; the default is everything beyond the host. */
      egress?: components['schemas']['EgressPolicy'] | null;
      /** @description Environment of every command in the sandbox, for its lifetime. */
      env?: {
        [key: string]: string;
      } | null;
    };
    CreateTunnel: {
      /** @description Port of the guest's 127.0.0.1 that will reach the caller. */
      guest_port: number;
    };
    DirEntry: {
      name: string;
      /** @enum {string} */
      type: 'file' | 'dir' | 'symlink' | 'fifo' | 'socket' | 'block' | 'char';
      is_dir: boolean;
      is_symlink: boolean;
      size: number;
      /** @description The 12 permission bits. */
      mode: number;
      mtime_unix: number;
    };
    Drive: {
      /** Format: uuid */
      id: string;
      size_mib: number;
      created_at_unix: number;
      /** @description Who holds it: `sandbox <id>` or `snapshot <id>`. */
      attached_to: {
        holder: string;
        read_only: boolean;
      }[];
    };
    DriveList: {
      drives: components['schemas']['Drive'][];
    };
    DriveRequest: {
      /** @description Id of the drive; mounted at /mnt/drives/<id>. */
      id: string;
      /** @description Several may hold it at a time if all of them only read. */
      read_only?: boolean | null;
    };
    DriveRequests: components['schemas']['DriveRequest'][];
    Egress: {
      /** @enum {string} */
      mode: 'allow_all' | 'deny_all';
      allow_cidrs: string[];
      deny_cidrs: string[];
    };
    EgressPolicy: {
      /**
       * @description allow_all: everything but deny_cidrs; deny_all: nothing but allow_cidrs.
       * @enum {string}
       */
      mode: 'allow_all' | 'deny_all';
      /** @description IPv4 networks that are open. */
      allow_cidrs?: string[] | null;
      /** @description IPv4 networks that are closed, even where an open one overlaps. */
      deny_cidrs?: string[] | null;
    };
    Error: {
      /** @description What went wrong and what to do. */
      error: string;
      /**
       * @description Machine-readable kind of the failure; a closed set. x-status: the status it is answered with, 400 where none is named. x-retryable: the same call may succeed later.
       * @enum {string}
       */
      code:
        | 'INVALID_REQUEST'
        | 'IMAGE_SOURCE_MISSING'
        | 'IMAGE_SOURCE_CLOSED'
        | 'IMAGE_SOURCE_LINK'
        | 'IMAGE_SOURCE_NOT_FILE'
        | 'IMAGE_SOURCE_NOT_EXT4'
        | 'IMAGE_SOURCE_CHANGED'
        | 'MOUNT_FAILED'
        | 'JAILED_NOT_SNAPSHOTTABLE'
        | 'UNAUTHORIZED'
        | 'CROSS_SITE'
        | 'SERVICE_WORKER_REFUSED'
        | 'NOT_FOUND'
        | 'ROUTE_NOT_FOUND'
        | 'METHOD_NOT_ALLOWED'
        | 'NAME_TAKEN'
        | 'NAME_HELD_BY_SNAPSHOT'
        | 'POOL_EXISTS'
        | 'ILLEGAL_STATE'
        | 'IMAGE_ID_TAKEN'
        | 'IMAGE_IN_USE'
        | 'SESSION_ENDED'
        | 'STDIN_FULL'
        | 'TOO_MANY_STREAMS'
        | 'PORT_IN_USE'
        | 'TUNNEL_ATTACHED'
        | 'DRIVE_CONFLICT'
        | 'DRIVE_NEEDS_RECOVERY'
        | 'DRIVE_IN_USE'
        | 'SNAPSHOT_FORKED'
        | 'IDENTITY_HELD'
        | 'SNAPSHOT_INCOMPATIBLE'
        | 'FORK_NOT_SNAPSHOTTABLE'
        | 'AGENT_OUTDATED'
        | 'MOUNT_PATH_TAKEN'
        | 'MOUNT_PATH_BUSY'
        | 'REQUEST_TIMEOUT'
        | 'BODY_TOO_LARGE'
        | 'UPGRADE_REQUIRED'
        | 'INTERNAL'
        | 'MOUNT_MISSING'
        | 'BOOT_FAILED'
        | 'SNAPSHOT_FAILED'
        | 'RESTORE_FAILED'
        | 'SANDBOX_UNREACHABLE'
        | 'NOTHING_LISTENING'
        | 'PREVIEW_BROKEN'
        | 'PREVIEW_TIMEOUT'
        | 'SHUTTING_DOWN'
        | 'NETWORK_POOL_EXHAUSTED'
        | 'POOL_EXHAUSTED'
        | 'INSUFFICIENT_MEMORY'
        | 'INSUFFICIENT_PROCESSES'
        | 'TOO_MANY_REQUESTS'
        | 'INSUFFICIENT_DISK'
        | 'E2BIG'
        | 'EACCES'
        | 'EBADF'
        | 'EBUSY'
        | 'EDQUOT'
        | 'EEXIST'
        | 'EFBIG'
        | 'EINVAL'
        | 'EIO'
        | 'EISDIR'
        | 'ELOOP'
        | 'EMFILE'
        | 'EMLINK'
        | 'ENAMETOOLONG'
        | 'ENFILE'
        | 'ENODEV'
        | 'ENOENT'
        | 'ENOMEM'
        | 'ENOSPC'
        | 'ENOTDIR'
        | 'ENOTEMPTY'
        | 'ENOTSUP'
        | 'ENXIO'
        | 'EOPNOTSUPP'
        | 'EOVERFLOW'
        | 'EPERM'
        | 'EROFS'
        | 'ETXTBSY'
        | 'EXDEV';
    };
    ExecRequest: {
      command: string;
      /** @description Arguments, passed as they are: no shell reads them. */
      args?: string[] | null;
      /** @description Merged over the sandbox's env; these values win. */
      env?: {
        [key: string]: string;
      } | null;
      /** @description Working directory; / when absent. */
      cwd?: string | null;
      /** @description Kills the command after this many milliseconds; exit_code is 124 and timed_out true then. */
      timeout_ms?: number | null;
      /** @description Bytes for the standard input, in base64. */
      stdin_base64?: string | null;
      /** @description User name, uid or uid:gid; root when absent. */
      user?: string | null;
    };
    ExecResult: {
      /** @description UTF-8; bytes that are not are replaced by U+FFFD. */
      stdout: string;
      stderr: string;
      /** @description 127: not found; 126: not executable; 128+N: killed by signal N; 124: timed out. */
      exit_code: number;
      /** @constant */
      timed_out?: true;
      /** @description The exact bytes, when they were not UTF-8. */
      stdout_base64?: string;
      stderr_base64?: string;
      /**
       * @description Output beyond SERVICE_MAX_EXEC_OUTPUT_BYTES of a stream was dropped.
       * @constant
       */
      truncated?: true;
    };
    ExecStreamId: {
      /** Format: uuid */
      id: string;
    };
    ExecStreamList: {
      sessions: components['schemas']['ExecStreamSession'][];
    };
    ExecStreamRequest: {
      command: string;
      /** @description Arguments, passed as they are: no shell reads them. */
      args?: string[] | null;
      /** @description Merged over the sandbox's env; these values win. */
      env?: {
        [key: string]: string;
      } | null;
      /** @description Working directory; / when absent. */
      cwd?: string | null;
      /** @description User name, uid or uid:gid; root when absent. */
      user?: string | null;
    };
    ExecStreamSession: {
      /** Format: uuid */
      id: string;
      command: string;
      args: string[];
      started_at_unix: number;
      /** @description null while it runs; 126 and 127: it could not be started. */
      exit_code: number | null;
    };
    FromToRequest: {
      from: string;
      to: string;
    };
    GetOrCreate: {
      /** @description Whose sandbox is asked for. */
      name: string;
      /** @description Filterable at list time. */
      tags?: {
        [key: string]: string;
      } | null;
      /** @description Virtual CPUs; the default is SERVICE_VCPU_COUNT. */
      vcpu_count?: number | null;
      /** @description Memory in MiB; the default is SERVICE_MEM_SIZE_MIB. */
      mem_size_mib?: number | null;
      /** @description A registered image to boot from, not the default root file system. */
      image_id?: string | null;
      /** @description Drives to attach; mounted at /mnt/drives/<id>. */
      drives?: components['schemas']['DriveRequests'] | null;
      /** @description Limits of I/O; the default is none. */
      rate_limit?: components['schemas']['RateLimit'] | null;
      /** @description What it may reach; the default is everything beyond the host. */
      egress?: components['schemas']['EgressPolicy'] | null;
      /** @description Environment of every command in the sandbox, for its lifetime. */
      env?: {
        [key: string]: string;
      } | null;
    };
    GotOrCreated: {
      /** Format: uuid */
      id: string;
      /** @description false: it lived, or was resumed. */
      created: boolean;
    };
    HistoryList: {
      history: components['schemas']['HistoryRecord'][];
    };
    HistoryRecord: {
      /** Format: uuid */
      id: string;
      name: string | null;
      tags: {
        [key: string]: string;
      };
      image_id: string | null;
      created_at_unix: number;
      ended_at_unix: number | null;
      end_reason: ('destroyed' | 'snapshotted' | 'orphaned_by_restart') | null;
      final_snapshot_id: string | null;
    };
    Image: {
      id: string;
      size_mib: number;
      created_at_unix: number;
      /** @description Who boots from it: `sandbox <id>` or `snapshot <id>`; null when nobody does. */
      in_use_by: string[] | null;
      /** @constant */
      guest_agent_verified: false;
      /** @description How to look into the image, which the daemon cannot. */
      verification_hint: string;
    };
    ImageList: {
      images: components['schemas']['Image'][];
    };
    ListDirResult: {
      entries: components['schemas']['DirEntry'][];
    };
    MkdirRequest: {
      path: string;
      /** @description Make missing parents too, and accept a directory that exists. */
      parents?: boolean | null;
    };
    Mount: {
      /** Format: uuid */
      id: string;
      bucket: string;
      endpoint: string;
      mount_path: string;
      read_only: boolean;
    };
    MountList: {
      mounts: components['schemas']['Mount'][];
    };
    PathRequest: {
      path: string;
    };
    PinCheckpoint: {
      /** @description true: no limit on history removes it. */
      pinned: boolean;
    };
    Pool: {
      id: string;
      image_id: string | null;
      vcpu_count: number;
      mem_size_mib: number;
      warm_count: number;
      max_count: number | null;
      /** @description Instances that are ready now. */
      warm_ready: number;
      /** @description Live sandboxes of its profile now, warm or booted. */
      claimed: number;
    };
    PoolList: {
      pools: components['schemas']['Pool'][];
    };
    PruneRequest: {
      /** @description true: only says what would go. */
      dry_run?: boolean | null;
    };
    Pruned: {
      dry_run: boolean;
      checkpoints: {
        /** Format: uuid */
        id: string;
        /**
         * @description The limit it is beyond: SERVICE_HISTORY_KEEP_LAST, _MAX_AGE_SECS, _MAX_BYTES.
         * @enum {string}
         */
        reason: 'keep_last' | 'max_age' | 'max_bytes';
        /** @description Disk space that a deletion would give back now: what no other snapshot or sandbox shares. */
        size_bytes: number;
      }[];
      /** @description Disk space that comes back with them, at least. */
      bytes: number;
    };
    RateLimit: {
      /** @description Bytes a second; 0 is no limit. */
      bandwidth_bytes_per_sec?: number | null;
      /** @description Requests to a disk, and packets each way of the network card, a second; 0 is no limit. */
      ops_per_sec?: number | null;
    };
    RateLimitItem: {
      bandwidth_bytes_per_sec: number | null;
      ops_per_sec: number | null;
    };
    ReadFileResult: {
      content_base64: string;
    };
    ReadlinkResult: {
      target: string;
    };
    RegisterImage: {
      /** @description What sandboxes ask for it by. */
      id: string;
      /** @description An ext4 file on the host, which is copied. */
      path: string;
    };
    Sandbox: {
      /** Format: uuid */
      id: string;
      name: string | null;
      tags: {
        [key: string]: string;
      };
      created_at_unix: number;
      image_id: string | null;
      vcpu_count: number;
      mem_size_mib: number;
      egress: components['schemas']['Egress'] | null;
      rate_limit: components['schemas']['RateLimitItem'] | null;
      drives: {
        /** Format: uuid */
        id: string;
        read_only: boolean;
      }[];
      jailed: boolean;
      parent_snapshot_id: string | null;
    };
    SandboxId: {
      /** Format: uuid */
      id: string;
    };
    SandboxList: {
      sandboxes: components['schemas']['Sandbox'][];
    };
    Snapshot: {
      /** Format: uuid */
      id: string;
      /** Format: uuid */
      source_sandbox_id: string;
      created_at_unix: number;
      name: string | null;
      tags: {
        [key: string]: string;
      };
      image_id: string | null;
      vcpu_count: number;
      mem_size_mib: number;
      /** @description The live fork. */
      forked_into: string | null;
      parent_snapshot_id: string | null;
      archived_at_unix: number | null;
      /** @description Disk space that a deletion would give back now: what no other snapshot or sandbox shares. */
      size_bytes: number;
    };
    SnapshotId: {
      /** Format: uuid */
      snapshot_id: string;
    };
    SnapshotList: {
      snapshots: components['schemas']['Snapshot'][];
    };
    StdinRequest: {
      /** @description Text, sent as UTF-8. */
      stdin?: string | null;
      /** @description Bytes in base64; they follow the text where both are given. */
      stdin_base64?: string | null;
      /** @description Closes the standard input after these bytes. */
      eof?: boolean | null;
    };
    Stopped: {
      kept: boolean;
      snapshot_id: string | null;
    };
    SymlinkRequest: {
      target: string;
      link_path: string;
    };
    TruncateRequest: {
      path: string;
      size: number;
    };
    Tunnel: {
      /** Format: uuid */
      tunnel_id: string;
      guest_port: number;
    };
    WriteFileRequest: {
      path: string;
      content_base64: string;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type Checkpoint = components['schemas']['Checkpoint'];
export type CheckpointList = components['schemas']['CheckpointList'];
export type ChmodRequest = components['schemas']['ChmodRequest'];
export type ChownRequest = components['schemas']['ChownRequest'];
export type CloneList = components['schemas']['CloneList'];
export type CloneRequest = components['schemas']['CloneRequest'];
export type CreateDrive = components['schemas']['CreateDrive'];
export type CreateMount = components['schemas']['CreateMount'];
export type CreatePool = components['schemas']['CreatePool'];
export type CreateSandbox = components['schemas']['CreateSandbox'];
export type CreateTunnel = components['schemas']['CreateTunnel'];
export type DirEntry = components['schemas']['DirEntry'];
export type Drive = components['schemas']['Drive'];
export type DriveList = components['schemas']['DriveList'];
export type DriveRequest = components['schemas']['DriveRequest'];
export type DriveRequests = components['schemas']['DriveRequests'];
export type Egress = components['schemas']['Egress'];
export type EgressPolicy = components['schemas']['EgressPolicy'];
export type Error = components['schemas']['Error'];
export type ExecRequest = components['schemas']['ExecRequest'];
export type ExecResult = components['schemas']['ExecResult'];
export type ExecStreamId = components['schemas']['ExecStreamId'];
export type ExecStreamList = components['schemas']['ExecStreamList'];
export type ExecStreamRequest = components['schemas']['ExecStreamRequest'];
export type ExecStreamSession = components['schemas']['ExecStreamSession'];
export type FromToRequest = components['schemas']['FromToRequest'];
export type GetOrCreate = components['schemas']['GetOrCreate'];
export type GotOrCreated = components['schemas']['GotOrCreated'];
export type HistoryList = components['schemas']['HistoryList'];
export type HistoryRecord = components['schemas']['HistoryRecord'];
export type Image = components['schemas']['Image'];
export type ImageList = components['schemas']['ImageList'];
export type ListDirResult = components['schemas']['ListDirResult'];
export type MkdirRequest = components['schemas']['MkdirRequest'];
export type Mount = components['schemas']['Mount'];
export type MountList = components['schemas']['MountList'];
export type PathRequest = components['schemas']['PathRequest'];
export type PinCheckpoint = components['schemas']['PinCheckpoint'];
export type Pool = components['schemas']['Pool'];
export type PoolList = components['schemas']['PoolList'];
export type PruneRequest = components['schemas']['PruneRequest'];
export type Pruned = components['schemas']['Pruned'];
export type RateLimit = components['schemas']['RateLimit'];
export type RateLimitItem = components['schemas']['RateLimitItem'];
export type ReadFileResult = components['schemas']['ReadFileResult'];
export type ReadlinkResult = components['schemas']['ReadlinkResult'];
export type RegisterImage = components['schemas']['RegisterImage'];
export type Sandbox = components['schemas']['Sandbox'];
export type SandboxId = components['schemas']['SandboxId'];
export type SandboxList = components['schemas']['SandboxList'];
export type Snapshot = components['schemas']['Snapshot'];
export type SnapshotId = components['schemas']['SnapshotId'];
export type SnapshotList = components['schemas']['SnapshotList'];
export type StdinRequest = components['schemas']['StdinRequest'];
export type Stopped = components['schemas']['Stopped'];
export type SymlinkRequest = components['schemas']['SymlinkRequest'];
export type TruncateRequest = components['schemas']['TruncateRequest'];
export type Tunnel = components['schemas']['Tunnel'];
export type WriteFileRequest = components['schemas']['WriteFileRequest'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;

/** Statuses by code; a code that is not here has 400. */
export const STATUS_OF: Readonly<Record<string, number>> = {
  UNAUTHORIZED: 401,
  CROSS_SITE: 403,
  SERVICE_WORKER_REFUSED: 403,
  NOT_FOUND: 404,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NAME_TAKEN: 409,
  NAME_HELD_BY_SNAPSHOT: 409,
  POOL_EXISTS: 409,
  ILLEGAL_STATE: 409,
  IMAGE_ID_TAKEN: 409,
  IMAGE_IN_USE: 409,
  SESSION_ENDED: 409,
  STDIN_FULL: 409,
  TOO_MANY_STREAMS: 409,
  PORT_IN_USE: 409,
  TUNNEL_ATTACHED: 409,
  DRIVE_CONFLICT: 409,
  DRIVE_NEEDS_RECOVERY: 409,
  DRIVE_IN_USE: 409,
  SNAPSHOT_FORKED: 409,
  IDENTITY_HELD: 409,
  SNAPSHOT_INCOMPATIBLE: 409,
  FORK_NOT_SNAPSHOTTABLE: 409,
  AGENT_OUTDATED: 409,
  MOUNT_PATH_TAKEN: 409,
  MOUNT_PATH_BUSY: 409,
  REQUEST_TIMEOUT: 408,
  BODY_TOO_LARGE: 413,
  UPGRADE_REQUIRED: 426,
  INTERNAL: 500,
  MOUNT_MISSING: 500,
  BOOT_FAILED: 500,
  SNAPSHOT_FAILED: 500,
  RESTORE_FAILED: 500,
  SANDBOX_UNREACHABLE: 502,
  NOTHING_LISTENING: 502,
  PREVIEW_BROKEN: 502,
  PREVIEW_TIMEOUT: 504,
  SHUTTING_DOWN: 503,
  NETWORK_POOL_EXHAUSTED: 503,
  POOL_EXHAUSTED: 503,
  INSUFFICIENT_MEMORY: 503,
  INSUFFICIENT_PROCESSES: 503,
  TOO_MANY_REQUESTS: 503,
  INSUFFICIENT_DISK: 503,
};
/** Codes of failures after which the same call may succeed. */
export const RETRYABLE_CODES: readonly string[] = [
  'IMAGE_SOURCE_CHANGED',
  'ILLEGAL_STATE',
  'STDIN_FULL',
  'TOO_MANY_STREAMS',
  'SNAPSHOT_FORKED',
  'IDENTITY_HELD',
  'MOUNT_PATH_BUSY',
  'REQUEST_TIMEOUT',
  'MOUNT_MISSING',
  'BOOT_FAILED',
  'SNAPSHOT_FAILED',
  'RESTORE_FAILED',
  'NOTHING_LISTENING',
  'PREVIEW_BROKEN',
  'PREVIEW_TIMEOUT',
  'SHUTTING_DOWN',
  'NETWORK_POOL_EXHAUSTED',
  'POOL_EXHAUSTED',
  'INSUFFICIENT_MEMORY',
  'INSUFFICIENT_PROCESSES',
  'TOO_MANY_REQUESTS',
  'INSUFFICIENT_DISK',
];
