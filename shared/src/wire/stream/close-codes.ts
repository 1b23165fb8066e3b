import { errorTable, type ErrorCode } from '../errors.ts';

interface CloseSpec {
  readonly code: number;
  readonly name: string;
  readonly meaning: string;
}

/** Close codes without an error code. */
const others = [
  { code: 1000, name: 'NORMAL', meaning: 'The client closed the connection.' },
  {
    code: 1006,
    name: 'ABNORMAL',
    meaning: 'No close frame arrived: the connection broke, or the client lagged so far that none could be sent. Reconnect.',
  },
  { code: 4009, name: 'SILENT', meaning: 'The client did not answer a ping. Reconnect.' },
] as const satisfies readonly CloseSpec[];

/** The WebSocket close code of an error that ends a socket. */
export function closeCode(error: ErrorCode): number {
  const { closeCode: code } = errorTable[error];
  if (code === undefined) throw new Error(`${error} does not close a socket`);
  return code;
}

export const silentCloseCode = 4009;

/** All close codes that a client can receive, in ascending order. 4000-4499: reconnect; 4500-4999: do not. */
export function closeCodes(): readonly CloseSpec[] {
  const fromErrors = (Object.keys(errorTable) as ErrorCode[]).flatMap((name) => {
    const { closeCode: code, message } = errorTable[name];
    return code === undefined ? [] : [{ code, name, meaning: message }];
  });
  return [...others, ...fromErrors].sort((a, b) => a.code - b.code);
}
