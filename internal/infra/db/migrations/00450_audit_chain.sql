-- +goose Up
-- The entries of a team are a chain (docs/adr/0062-audit-log-in-a-chain.md). Those that are there get their place when
-- the server starts: SQL has no hashes.
ALTER TABLE audit_entry ADD COLUMN seq BIGINT NOT NULL DEFAULT 0; -- from 1 without gaps; 0: not in the chain
ALTER TABLE audit_entry ADD COLUMN hash TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX audit_entry_seq ON audit_entry (team_id, seq) WHERE seq > 0;
CREATE INDEX audit_entry_unchained ON audit_entry (team_id, created_at, id) WHERE seq = 0;

-- Where a team's chain ends, and where it begins since old entries were removed. Like entries, it outlives the team.
CREATE TABLE audit_chain (
	team_id    TEXT PRIMARY KEY,
	seq        BIGINT NOT NULL,  -- of the newest entry
	hash       TEXT NOT NULL,    -- its hash
	floor_seq  BIGINT NOT NULL,  -- of the newest entry that was removed
	floor_hash TEXT NOT NULL,
	adopted    BOOLEAN NOT NULL, -- entries from before there was a chain are in it
	sealed     $BYTES NOT NULL   -- the other columns, encrypted with the server's key
);

-- +goose Down
DROP TABLE audit_chain;
DROP INDEX audit_entry_unchained;
DROP INDEX audit_entry_seq;
ALTER TABLE audit_entry DROP COLUMN hash;
ALTER TABLE audit_entry DROP COLUMN seq;
