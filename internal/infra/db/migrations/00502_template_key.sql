-- +goose Up
-- Certificates of those whose signed templates may run programs for a team. They are public: private keys stay with
-- their owners.
CREATE TABLE template_key (
	id          TEXT PRIMARY KEY,
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	name        TEXT NOT NULL,
	owner       TEXT NOT NULL,               -- as the certificate names them
	fragment    TEXT NOT NULL,               -- the key's name in signatures
	certificate TEXT NOT NULL,               -- PEM
	added_by    TEXT NOT NULL,               -- the user; they may be gone
	created_at  BIGINT NOT NULL,
	UNIQUE (team_id, fragment)
);

-- +goose Down
DROP TABLE template_key;
