import { pino, type Logger, type LevelWithSilent } from 'pino';
import pretty from 'pino-pretty';

export type { Logger, LevelWithSilent } from 'pino';

const mask = '[redacted]';

/** Field names whose values are never written, at the top of a line's data and two levels below. */
const secretFields = [
  'apiKey',
  'api_key',
  'api-key',
  'key',
  'authorization',
  'cookie',
  'passphrase',
  'password',
  'secret',
  'secretKey',
  'privateKey',
  'seed',
  'ticket',
  'token',
] as const;

/** pino's path for a field: `a.b`, or `a["b-c"]` where the name is no identifier. */
const redactPaths = secretFields.flatMap((field) =>
  /^[a-z_]+$/i.test(field) ? [field, `*.${field}`, `*.*.${field}`] : [`["${field}"]`, `*["${field}"]`, `*.*["${field}"]`],
);

/**
 * Secrets inside texts, wherever they stand: query parameters of URLs, user:password of URLs, bearer headers, API keys
 * of this product (their id stays, to find the key by). Field names alone miss a secret in an error's message.
 */
const secretTexts: readonly (readonly [RegExp, string])[] = [
  [/([?&](?:api[-_]?key|key|token|ticket|secret|auth)=)[^&\s"'\\]+/gi, `$1${mask}`],
  [/(\b[a-z][a-z0-9+.-]{0,31}:\/\/)[^/\s"'@\\]{1,512}@/gi, `$1${mask}@`],
  [/(\bbearer\s+)[^\s"'\\]+/gi, `$1${mask}`],
  [/\b(sluice_[A-Za-z0-9]+_)[A-Za-z0-9]+/g, `$1${mask}`],
];

/** Takes the secrets out of one line. */
function redactText(text: string): string {
  let out = text;
  for (const [pattern, replacement] of secretTexts) out = out.replace(pattern, replacement);
  return out;
}

/**
 * The process's log: pino on stderr, one JSON object a line, or human-readable where stderr is a terminal. Written
 * synchronously, so that the last line before an exit is there; hot paths count and do not log.
 */
export function createLog({ level, name }: { readonly level: LevelWithSilent; readonly name: string }): Logger {
  const destination = process.stderr.isTTY
    ? pretty({ destination: 2, sync: true, colorize: true, translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname' })
    : pino.destination({ dest: 2, sync: true });
  return pino({ level, name, redact: { paths: redactPaths, censor: mask }, hooks: { streamWrite: redactText } }, destination);
}
