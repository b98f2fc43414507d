-- +goose Up
CREATE TABLE setting (
	id         TEXT PRIMARY KEY,      -- uuid v7: later ones sort later
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	type       TEXT NOT NULL,
	name       TEXT NOT NULL,
	provider   TEXT NOT NULL DEFAULT '',
	sealed     $BYTES NOT NULL,       -- the text, sealed with the id
	encoded    BOOLEAN NOT NULL,      -- it was sent in base64
	global     BOOLEAN NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX setting_of_team ON setting (team_id, type, id);

-- +goose Down
DROP TABLE setting;
