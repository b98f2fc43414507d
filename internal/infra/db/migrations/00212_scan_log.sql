-- +goose Up
-- One row per team: the last number assigned to a change of its scans. A transaction takes the number at
-- its end, so that changes become visible in the order of their numbers and the row is locked only
-- during the commit.
CREATE TABLE scan_log (
	team_id   TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	last_rev  BIGINT NOT NULL,
	last_gone BIGINT NOT NULL DEFAULT 0 -- the last that deleted scans
);
ALTER TABLE scan ADD COLUMN rev BIGINT NOT NULL DEFAULT 0;          -- of the team, of the last change to the scan, its runs, or its schedule
ALTER TABLE finding_total ADD COLUMN rev BIGINT NOT NULL DEFAULT 0; -- of the team's findings (finding_log), of the last change to the scan's tallies
CREATE INDEX scan_rev ON scan (team_id, rev);
CREATE INDEX finding_total_rev ON finding_total (team_id, rev);
DROP INDEX scan_name;
DROP INDEX scan_updated;
DROP INDEX finding_total_of_team;

-- +goose Down
CREATE INDEX finding_total_of_team ON finding_total (team_id, total, scan_id);
CREATE INDEX scan_updated ON scan (team_id, updated_at, id);
CREATE INDEX scan_name ON scan (team_id, name, id);
DROP INDEX finding_total_rev;
DROP INDEX scan_rev;
ALTER TABLE finding_total DROP COLUMN rev;
ALTER TABLE scan DROP COLUMN rev;
DROP TABLE scan_log;
