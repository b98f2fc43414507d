-- +goose Up
-- Users' files for their tasks. The bytes are in the data folder, by digest.
CREATE TABLE file (
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id     TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	key         TEXT NOT NULL,             -- directory/base_name
	base_name   TEXT NOT NULL,
	ext         TEXT NOT NULL,             -- in lower case, without the dot
	mime        TEXT NOT NULL,             -- what the beginning looks like
	size        BIGINT NOT NULL,
	etag        TEXT NOT NULL,             -- of the content
	digest      TEXT NOT NULL,             -- of the blob, which is this file's alone
	project_id  TEXT NOT NULL,
	chat_id     TEXT NOT NULL,
	modified_at BIGINT NOT NULL,
	PRIMARY KEY (team_id, user_id, key)
);

-- +goose Down
DROP TABLE file;
