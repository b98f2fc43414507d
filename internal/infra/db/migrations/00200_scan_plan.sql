-- +goose Up
-- The templates of a run, up to 10,000, in their own table: the run's row is read by every list and
-- written by every chunk.
CREATE TABLE scan_plan (
	scan_id   TEXT NOT NULL REFERENCES scan (id) ON DELETE CASCADE,
	run       BIGINT NOT NULL,
	templates $JSON NOT NULL, -- ids, in the order of the ledger
	PRIMARY KEY (scan_id, run)
);
INSERT INTO scan_plan (scan_id, run, templates) SELECT scan_id, run, templates FROM scan_run WHERE total_template > 0;
ALTER TABLE scan_run DROP COLUMN templates;

CREATE INDEX scan_name ON scan (team_id, name, id);
CREATE INDEX scan_updated ON scan (team_id, updated_at, id);

-- +goose Down
DROP INDEX scan_updated;
DROP INDEX scan_name;
ALTER TABLE scan_run ADD COLUMN templates $JSON NOT NULL DEFAULT '[]';
UPDATE scan_run SET templates = (SELECT p.templates FROM scan_plan p WHERE p.scan_id = scan_run.scan_id AND p.run = scan_run.run)
	WHERE EXISTS (SELECT 1 FROM scan_plan p WHERE p.scan_id = scan_run.scan_id AND p.run = scan_run.run);
DROP TABLE scan_plan;
