-- +goose Up
-- The team's own severity of a template's findings, or of one finding.
CREATE TABLE finding_severity (
	id          BIGINT NOT NULL,              -- of the team
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	template_id TEXT NOT NULL,
	finding_id  TEXT NOT NULL DEFAULT '',     -- empty: all findings of the template
	original    TEXT NOT NULL,                -- the template's own
	custom      TEXT NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	PRIMARY KEY (team_id, id),
	UNIQUE (team_id, template_id, finding_id)
);

-- +goose Down
DROP TABLE finding_severity;
