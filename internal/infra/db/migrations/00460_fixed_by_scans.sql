-- +goose Up
-- What a team says about its findings as a whole. Without a row: the defaults.
CREATE TABLE finding_setting (
	team_id        TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	fixed_by_scans BOOLEAN NOT NULL DEFAULT TRUE
);
-- Whether a finding was a regression before its status changed: 0 not known (of an earlier release), 1 no, 2 yes.
ALTER TABLE finding_change ADD COLUMN regressed SMALLINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE finding_change DROP COLUMN regressed;
DROP TABLE finding_setting;
