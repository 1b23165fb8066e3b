/** How far a signing process's audit log had come when it was last noted: what is shorter now was cut. */
export interface AuditHead {
  /** Of the log, made when it was begun. */
  readonly logId: string;
  readonly lines: number;
  /** Of the last of these lines. */
  readonly mac: Uint8Array;
  readonly notedAtMs: number;
}

/** Kept apart from the logs themselves, so that cutting one short is seen. */
export interface AuditHeadTable {
  byLog(logId: string): Promise<AuditHead | null>;
  /** Oldest note first. */
  all(): Promise<readonly AuditHead[]>;
  /** A note that is no further than the one that is there changes nothing. */
  note(head: AuditHead): Promise<void>;
}
