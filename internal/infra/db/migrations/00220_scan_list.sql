-- +goose Up
-- Lists of scans come from the database (docs/adr/0019-lists-from-the-database.md), and no
-- longer from a copy in memory that followed revisions.
DROP INDEX finding_total_rev;
DROP INDEX scan_rev;
ALTER TABLE finding_total DROP COLUMN rev;
ALTER TABLE scan DROP COLUMN rev;
DROP TABLE scan_log;
-- The name in lower case, in any script, for the search; filled by the program for old rows.
ALTER TABLE scan ADD COLUMN folded_name TEXT;

-- +goose Down
ALTER TABLE scan DROP COLUMN folded_name;
CREATE TABLE scan_log (
	team_id   TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	last_rev  BIGINT NOT NULL,
	last_gone BIGINT NOT NULL DEFAULT 0
);
ALTER TABLE scan ADD COLUMN rev BIGINT NOT NULL DEFAULT 0;
ALTER TABLE finding_total ADD COLUMN rev BIGINT NOT NULL DEFAULT 0;
CREATE INDEX scan_rev ON scan (team_id, rev);
CREATE INDEX finding_total_rev ON finding_total (team_id, rev);
