-- +goose Up
-- Which hashes of findings are one weakness (package core/finding/identity). A hash without a row is a weakness of its
-- own, named by itself.
CREATE TABLE finding_identity (
	team_id  TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	hash     TEXT NOT NULL,
	weakness TEXT NOT NULL,                -- the hash that the weakness began with
	rule     TEXT NOT NULL,
	actor    TEXT NOT NULL DEFAULT '',     -- an email; empty: the rule alone
	at       BIGINT NOT NULL,
	PRIMARY KEY (team_id, hash)
);
CREATE INDEX finding_identity_of ON finding_identity (team_id, weakness);

-- What leads from a new sighting to hashes that may be the same weakness.
CREATE TABLE finding_key (
	team_id TEXT NOT NULL,
	key     TEXT NOT NULL,
	hash    TEXT NOT NULL,
	PRIMARY KEY (team_id, key, hash)
);

-- A weakness is listed once, by its first row; the others repeat it. The index of weaknesses has only rows whose hash
-- joined another one.
ALTER TABLE finding ADD COLUMN weakness TEXT NOT NULL DEFAULT ''; -- that the hash joined; empty: it is that of the hash
ALTER TABLE finding ADD COLUMN is_repeat BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE finding ADD COLUMN is_task BOOLEAN NOT NULL DEFAULT FALSE; -- scan_id is the id of a task
CREATE INDEX finding_hash ON finding (team_id, hash);
CREATE INDEX finding_weakness ON finding (team_id, weakness, no) WHERE weakness <> '';
CREATE INDEX finding_weakness_head ON finding (team_id, weakness) WHERE weakness <> '' AND NOT is_repeat;
UPDATE finding SET is_repeat = TRUE WHERE (team_id, no) IN (
	SELECT team_id, no FROM (
		SELECT team_id, no, row_number() OVER (PARTITION BY team_id, hash ORDER BY no) AS place FROM finding
	) AS numbered WHERE place > 1
);

-- +goose Down
DROP INDEX finding_weakness_head;
DROP INDEX finding_weakness;
DROP INDEX finding_hash;
ALTER TABLE finding DROP COLUMN is_task;
ALTER TABLE finding DROP COLUMN is_repeat;
ALTER TABLE finding DROP COLUMN weakness;
DROP TABLE finding_key;
DROP TABLE finding_identity;
