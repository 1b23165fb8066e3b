/** How far a signing process's audit log had come when it was last noted: what is shorter now was cut. */
export interface AuditHead {
  /** Of the log, made when it was begun. */
  readonly logId: string;
  readonly lines: number;
  /** Of the last of these lines. */
  readonly mac: Uint8Array;
  readonly notedAtMs: number;
  /** The machine and folder where the log lies; null: noted by an earlier version. */
  readonly place: string | null;
}

/** Kept apart from the logs themselves, so that cutting one short is seen. */
export interface AuditHeadTable {
  /** Oldest note first. */
  all(): Promise<readonly AuditHead[]>;
  /** A note that is no further than the one that is there changes nothing. */
  note(head: AuditHead): Promise<void>;
  /** False: there is no note of this log. */
  forget(logId: string): Promise<boolean>;
}
