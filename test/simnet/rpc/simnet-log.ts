/** The part of a pino logger that the simulated node uses. */
export interface SimnetLog {
  info(data: object, event: string): void;
  warn(data: object, event: string): void;
  error(data: object, event: string): void;
}
