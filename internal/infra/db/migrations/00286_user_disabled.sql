-- +goose Up
ALTER TABLE user_account ADD COLUMN disabled_at BIGINT; -- NULL: they may sign in
CREATE INDEX user_account_disabled ON user_account (disabled_at) WHERE disabled_at IS NOT NULL;

-- +goose Down
DROP INDEX user_account_disabled;
ALTER TABLE user_account DROP COLUMN disabled_at;
