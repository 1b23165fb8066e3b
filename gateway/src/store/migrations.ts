import { integer, type Database } from './database.ts';

/** The store's layout, step by step. A step that was released is never changed: a new one is added. */
const steps: readonly string[] = [
  `CREATE TABLE versions (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
   INSERT INTO versions (name, value) VALUES ('api_keys', 0);

   CREATE TABLE api_keys (
     id TEXT PRIMARY KEY,
     plan TEXT NOT NULL,
     scopes TEXT NOT NULL,
     label TEXT,
     created_at_ms INTEGER NOT NULL,
     revoked_at_ms INTEGER
   ) STRICT;
   CREATE TABLE api_key_secrets (
     key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
     number INTEGER NOT NULL,
     hash BLOB NOT NULL,
     created_at_ms INTEGER NOT NULL,
     ends_at_ms INTEGER,
     PRIMARY KEY (key_id, number)
   ) STRICT;

   CREATE TABLE keystores (name TEXT PRIMARY KEY, salt BLOB NOT NULL, proof BLOB NOT NULL, created_at_ms INTEGER NOT NULL) STRICT;
   CREATE TABLE wallets (
     keystore TEXT NOT NULL REFERENCES keystores (name),
     public_key TEXT NOT NULL,
     label TEXT,
     imported INTEGER NOT NULL,
     sealed_seed BLOB NOT NULL,
     created_at_ms INTEGER NOT NULL,
     PRIMARY KEY (keystore, public_key)
   ) STRICT;`,
];

/** Brings the store to the layout of this version. Throws where a newer version has written it. */
export function migrate(db: Database): void {
  db.transaction(() => {
    db.exec('CREATE TABLE IF NOT EXISTS migrations (step INTEGER PRIMARY KEY, applied_at_ms INTEGER NOT NULL) STRICT');
    const done = integer(db.get('SELECT coalesce(max(step), 0) AS step FROM migrations')?.['step']);
    if (done > steps.length) {
      throw new Error(`the store was written by a newer version of sluice (layout ${done}, this one knows ${steps.length})`);
    }
    for (const [index, script] of steps.entries()) {
      if (index < done) continue;
      db.exec(script);
      db.run('INSERT INTO migrations (step, applied_at_ms) VALUES (?, ?)', index + 1, Date.now());
    }
  });
}
