import { errorTable, type ErrorCode } from '../errors/codes.ts';

interface CloseSpec {
  readonly code: number;
  readonly name: string;
  readonly meaning: string;
}

/** Close codes without an error code. */
const others = [
  { code: 1000, name: 'NORMAL', meaning: 'The client closed.' },
  {
    code: 1006,
    name: 'ABNORMAL',
    meaning: 'No close frame came: the link broke, or the client was so far behind that none could be sent. Come back.',
  },
  { code: 4009, name: 'SILENT', meaning: 'The client answered no ping.' },
] as const satisfies readonly CloseSpec[];

/** The WebSocket close code of an error that ends a socket. */
export function closeCode(error: ErrorCode): number {
  const { closeCode: code } = errorTable[error];
  if (code === undefined) throw new Error(`${error} does not close a socket`);
  return code;
}

export const silentCloseCode = 4009;

/** Every close code a client can meet, in ascending order. 4000-4499: come back; 4500-4999: don't. */
export function closeCodes(): readonly CloseSpec[] {
  const fromErrors = (Object.keys(errorTable) as ErrorCode[]).flatMap((name) => {
    const { closeCode: code, message } = errorTable[name];
    return code === undefined ? [] : [{ code, name, meaning: message }];
  });
  return [...others, ...fromErrors].sort((a, b) => a.code - b.code);
}
