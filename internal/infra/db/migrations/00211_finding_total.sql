-- +goose Up
-- The total number of findings of a scan, to sort lists of scans; every scan has a row from its start.
CREATE TABLE finding_total (
	scan_id TEXT PRIMARY KEY,
	team_id TEXT NOT NULL,
	total   BIGINT NOT NULL
);
INSERT INTO finding_total (scan_id, team_id, total)
	SELECT s.id, s.team_id, COALESCE((SELECT SUM(t.total) FROM finding_tally t WHERE t.scan_id = s.id), 0) FROM scan s;
CREATE INDEX finding_total_of_team ON finding_total (team_id, total, scan_id);

-- +goose Down
DROP TABLE finding_total;
