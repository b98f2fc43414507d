-- +goose Up
-- When a team wants its findings to be fixed (package core/finding/due). rev grows with each change; it stays when the
-- policy is taken away (NULL), so that findings are looked at again.
CREATE TABLE sla_policy (
	team_id TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	rev     BIGINT NOT NULL,
	policy  $JSON
);

-- What of findings follows from elsewhere: from the policy of the team, and from feeds. due_at without a date is the
-- last of all, so that it sorts behind; the score is in hundred thousandths, -1: none.
ALTER TABLE finding ADD COLUMN due_at BIGINT NOT NULL DEFAULT 9000000000000000000;
ALTER TABLE finding ADD COLUMN due_state TEXT NOT NULL DEFAULT '';
ALTER TABLE finding ADD COLUMN epss BIGINT NOT NULL DEFAULT -1;
ALTER TABLE finding ADD COLUMN is_kev BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX finding_due ON finding (team_id, due_at, no DESC);
CREATE INDEX finding_epss ON finding (team_id, epss, no DESC);
CREATE INDEX finding_due_state ON finding (team_id, due_state, due_at) WHERE due_state <> '';

-- Up to where a team's findings have what follows (package core/finding/upkeep).
CREATE TABLE finding_upkeep (
	team_id    TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	no         BIGINT NOT NULL,              -- of the last finding that was looked at
	seq        BIGINT NOT NULL,              -- of the last change that was looked at
	policy     BIGINT NOT NULL,              -- the rev that they were looked at with
	generation BIGINT NOT NULL,              -- of the feeds, then
	assets     BIGINT NOT NULL               -- the rev of the last asset whose labels were looked at
);

-- +goose Down
DROP TABLE finding_upkeep;
DROP INDEX finding_due_state;
DROP INDEX finding_epss;
DROP INDEX finding_due;
ALTER TABLE finding DROP COLUMN is_kev;
ALTER TABLE finding DROP COLUMN epss;
ALTER TABLE finding DROP COLUMN due_state;
ALTER TABLE finding DROP COLUMN due_at;
DROP TABLE sla_policy;
