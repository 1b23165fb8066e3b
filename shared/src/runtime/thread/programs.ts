/**
 * Folder of the compiled programs. A compiled module uses its own folder; sources that run directly, as in tests, use the newest build.
 */
const folder = new URL(import.meta.url.endsWith('.ts') ? '../../../../.build/current/' : './', import.meta.url);

/** A name in `compile/programs.mjs`. */
export type ProgramName =
  | 'signer'
  | 'log-followers'
  | 'grpc-thread'
  | 'blocks-thread'
  | 'follower-thread'
  | 'answers-thread'
  | 'explain-process'
  | 'programs-thread'
  | 'thread';

/** Address of a compiled program. */
export function programUrl(name: ProgramName): URL {
  return new URL(`${name}.js`, folder);
}
