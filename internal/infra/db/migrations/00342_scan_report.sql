-- +goose Up
-- Reports of other tools that were imported, by their content: the same report again goes into the same scan.
CREATE TABLE scan_report (
	team_id TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	digest  TEXT NOT NULL,                 -- SHA-256 of the format and the bytes
	scan_id TEXT NOT NULL REFERENCES scan (id) ON DELETE CASCADE,
	PRIMARY KEY (team_id, digest)
);

-- +goose Down
DROP TABLE scan_report;
