import { isatty } from 'node:tty';
import { pino, type Logger, type LevelWithSilent } from 'pino';
import pretty from 'pino-pretty';
import { heldDestination } from './held.ts';
import { printableJson, terminalJson } from './terminal-text.ts';

export type { Logger, LevelWithSilent } from 'pino';

const stderrFd = 2;
const mask = '[redacted]';

/** Names of fields whose values are never written, at the top of a line's data and two levels below. */
const secretFields = [
  'apiKey',
  'api_key',
  'api-key',
  'x-api-key',
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

/** pino's path for a field: `a.b`, or `a["b-c"]` if the name is not an identifier. */
const redactPaths = secretFields.flatMap((field) =>
  /^[a-z_]+$/i.test(field) ? [field, `*.${field}`, `*.*.${field}`] : [`["${field}"]`, `*["${field}"]`, `*.*["${field}"]`],
);

/**
 * Secrets inside texts: query parameters of URLs, user:password of URLs, bearer and basic headers, and API keys of this product (their id stays, so
 * that the key can be identified). Field names alone would miss a secret in an error's message.
 */
const secretTexts: readonly (readonly [RegExp, string])[] = [
  [/([?&](?:api[-_]?key|key|token|ticket|secret|auth)=)[^&\s"'\\]+/gi, `$1${mask}`],
  [/(\b[a-z][a-z0-9+.-]{0,31}:\/\/)[^/\s"'@\\]{1,512}@/gi, `$1${mask}@`],
  [/(\bbearer\s+)[^\s"'\\]+/gi, `$1${mask}`],
  [/(\bbasic\s+)[a-z0-9+/]{40,}={0,2}/gi, `$1${mask}`],
  [/\b(sluice_[A-Za-z0-9]+_)[A-Za-z0-9]+/g, `$1${mask}`],
];

/** Removes the secrets from one line. */
function redactText(text: string): string {
  let out = text;
  for (const [pattern, replacement] of secretTexts) out = out.replace(pattern, replacement);
  return out;
}

/**
 * The process's log: pino on stderr, one JSON object a line, or human-readable if stderr is a terminal. Writes are synchronous, so that the
 * last line before an exit is not lost; hot paths count instead of logging.
 */
export function createLog({ level, name }: { readonly level: LevelWithSilent; readonly name: string }): Logger {
  // In a thread, `process.stderr` is never a terminal.
  const isTTY = isatty(stderrFd);
  const destination = isTTY
    ? pretty({ destination: stderrFd, sync: true, colorize: true, translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname' })
    : pino.destination({ dest: stderrFd, sync: true });
  return pino(
    {
      level,
      name,
      redact: { paths: redactPaths, censor: mask },
      hooks: { streamWrite: (line) => (isTTY ? printableJson : terminalJson)(redactText(line)) },
    },
    heldDestination(destination),
  );
}
