-- +goose Up
-- The task, the look of a report, and whether secrets are shown.
ALTER TABLE export ADD COLUMN options $JSON;
-- How the reports of a team look.
CREATE TABLE report_style (
	team_id    TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	style      $JSON NOT NULL,
	updated_at BIGINT NOT NULL
);
-- Keys of the tags that stand for masked secrets in exports.
CREATE TABLE mask_key (
	team_id TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	key     $BYTES NOT NULL
);

-- +goose Down
DROP TABLE mask_key;
DROP TABLE report_style;
ALTER TABLE export DROP COLUMN options;
