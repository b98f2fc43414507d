-- +goose Up
-- The chain of evidence of a team (docs/adr/0052-evidence-in-a-chain.md): an entry for each batch of records that was
-- stored together. Entries are never changed, and stay when what they are about is deleted.
CREATE TABLE evidence_entry (
	team_id  TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	seq      BIGINT NOT NULL,              -- from 1, without gaps
	kind     TEXT NOT NULL,                -- sighting, run, adopted
	first_no BIGINT NOT NULL,              -- of the findings that it is about
	last_no  BIGINT NOT NULL,
	entry    $BYTES NOT NULL,              -- JSON, as it was hashed
	hash     TEXT NOT NULL,                -- of entry
	leaves   $BYTES NOT NULL,              -- of each record its number (8 bytes, big endian) and its hash (32 bytes)
	secret   $BYTES NOT NULL,              -- what the salts of the records are made of
	PRIMARY KEY (team_id, seq)
);
CREATE INDEX evidence_entry_no ON evidence_entry (team_id, kind, last_no);

-- Entries whose hash the server signed.
CREATE TABLE evidence_head (
	team_id   TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	seq       BIGINT NOT NULL,
	hash      TEXT NOT NULL,
	at        TEXT NOT NULL,               -- as it was signed
	signature TEXT NOT NULL,
	PRIMARY KEY (team_id, seq)
);

-- The key of this server, which signs; one row.
CREATE TABLE evidence_signer (
	id         BIGINT PRIMARY KEY,
	public_key TEXT NOT NULL,
	sealed_key $BYTES NOT NULL,
	created_at BIGINT NOT NULL
);

-- Proofs that were sent again: by a replay, or by a retest.
CREATE TABLE evidence_run (
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	id         TEXT NOT NULL UNIQUE,
	no         BIGINT NOT NULL,            -- of the finding
	seq        BIGINT NOT NULL DEFAULT 0,  -- of the entry; 0: none yet
	source     TEXT NOT NULL,              -- replay, retest
	state      TEXT NOT NULL,              -- queued, same, changed, gone, failed
	note       TEXT NOT NULL DEFAULT '',   -- why it failed
	asked_by   TEXT NOT NULL,              -- an email; empty: the service
	asked_at   BIGINT NOT NULL,
	ended_at   BIGINT,
	seen       $BYTES,                     -- JSON: what was seen; NULL: nothing
	PRIMARY KEY (team_id, no, id)
);

-- Who may export evidence in which secrets are not masked; no row: members.
CREATE TABLE evidence_policy (
	team_id  TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	unmasked TEXT NOT NULL                 -- members, admins, nobody
);

-- +goose Down
DROP TABLE evidence_policy;
DROP TABLE evidence_run;
DROP TABLE evidence_signer;
DROP TABLE evidence_head;
DROP TABLE evidence_entry;
