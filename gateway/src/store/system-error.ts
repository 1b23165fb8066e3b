/** Whether it is the system's error of this code, `ENOENT` say. */
export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
