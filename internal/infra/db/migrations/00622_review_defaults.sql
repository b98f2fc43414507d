-- +goose Up
-- How a team's repositories are reviewed, where nothing is set for one.
CREATE TABLE review_defaults (
	team_id TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	config  $JSON NOT NULL                   -- what was set; the rest has its defaults
);

-- +goose Down
DROP TABLE review_defaults;
