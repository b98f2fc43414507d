-- +goose Up
-- Templates that ended the engine twice and are not run for a team until a time. A changed text has another digest.
CREATE TABLE template_aside (
	team_id TEXT   NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	digest  TEXT   NOT NULL, -- of the text and all files that it names
	path    TEXT   NOT NULL,
	reason  TEXT   NOT NULL, -- crashed, over memory or over time
	until   BIGINT NOT NULL,
	PRIMARY KEY (team_id, digest)
);

-- +goose Down
DROP TABLE template_aside;
