/** The last recorded end of a signing process's audit log. If the log is shorter than that, it was cut. */
export interface AuditHead {
  /** Identifies the log; made when the log was created. */
  readonly logId: string;
  readonly lines: number;
  /** The MAC of the last of these lines. */
  readonly mac: Uint8Array;
  readonly notedAtMs: number;
  /** The machine and folder of the log. Null: not recorded. */
  readonly place: string | null;
}

/** The recorded ends of the audit logs. They are stored apart from the logs, so that a shortened log is detected. */
export interface AuditHeadTable {
  /** Oldest record first. */
  all(): Promise<readonly AuditHead[]>;
  /** Records a new end. An end that is not further than the stored one changes nothing. */
  note(head: AuditHead): Promise<void>;
  /** False: this log has no record. */
  forget(logId: string): Promise<boolean>;
}
