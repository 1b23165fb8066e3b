import type { ErrorCode } from '@sluice/shared/runtime/errors/codes.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { CommandId } from '@sluice/shared/wire/stream/commands.ts';
import type { Reply } from '@sluice/shared/wire/stream/replies.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Connections } from '../connections/connections.ts';
import type { Admission, Admit } from '../session/admission.ts';
import type { Connection } from '../session/connection.ts';
import { PendingMessages } from '../session/pending-messages.ts';
import { refusal } from '../session/protocol.ts';

export interface AuthenticationParts {
  readonly admit: Admit;
  readonly connections: Pick<Connections, 'authenticate' | 'currentPrincipal' | 'usages'>;
  readonly log: Logger;
  /** Replies with a refusal. If `close` is not null, then closes the connection with this code. */
  readonly refuse: (connection: Connection, reply: Reply, close: ErrorCode | null) => void;
  /** Carries out a message that arrived while the key was checked. */
  readonly receive: (connection: Connection, bytes: Uint8Array, binary: boolean) => void;
}

/** Carries out `auth`. Messages that arrive while the key is checked wait, so that commands are carried out in order. */
export class Authentication {
  readonly #parts: AuthenticationParts;

  constructor(parts: AuthenticationParts) {
    this.#parts = parts;
  }

  start(connection: Connection, id: CommandId, key: string): void {
    connection.pending = new PendingMessages();
    const { address, batch } = connection;
    this.#parts
      .admit({ key }, { address, batch })
      .then((admission) => this.#onAdmission(connection, id, admission))
      .catch((error: unknown) => {
        this.#parts.log.error({ err: error }, 'authentication_failed');
        connection.close('INTERNAL', 'INTERNAL');
      });
  }

  #onAdmission(connection: Connection, id: CommandId, admission: Admission): void {
    const pending = connection.pending?.all() ?? [];
    connection.pending = null;
    if (connection.ended) return;
    this.#finish(connection, id, admission);
    for (const { bytes, binary } of pending) this.#parts.receive(connection, bytes, binary);
  }

  #finish(connection: Connection, id: CommandId, admission: Admission): void {
    const known = connection.principal;
    // A failed `auth` does not close a connection that has authenticated before.
    const refuse = (code: ErrorCode, message?: string, details?: Readonly<Record<string, unknown>>): void =>
      this.#parts.refuse(connection, refusal(id, code, message, details), known === null ? code : null);
    if (!admission.ok) {
      refuse(admission.code, admission.message, admission.details);
      return;
    }
    const principal = this.#parts.connections.currentPrincipal(admission.principal);
    if (principal === null) {
      refuse('UNAUTHENTICATED');
      return;
    }
    if (known !== null && known.keyId !== principal.keyId) {
      this.#parts.refuse(connection, refusal(id, 'INVALID_REQUEST', 'This connection is authenticated with another key.'), null);
      return;
    }
    if (known === null && this.#parts.connections.usages.isFull(principal)) {
      refuse('RATE_LIMIT', 'This key has reached the limit of connections of its plan.', { limit: principal.plan.connections });
      return;
    }
    this.#accept(connection, id, principal);
  }

  #accept(connection: Connection, id: CommandId, principal: Principal): void {
    this.#parts.connections.authenticate(connection, principal);
    connection.notify({ id, op: 'authenticated', keyId: principal.keyId, plan: principal.plan.name, scopes: [...principal.scopes] });
  }
}
