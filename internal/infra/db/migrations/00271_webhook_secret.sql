-- +goose Up
ALTER TABLE team ADD COLUMN webhook_secret_name TEXT NOT NULL DEFAULT ''; -- of a secret of the owner's; empty: none
ALTER TABLE hook_delivery ADD COLUMN secret_name TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE hook_delivery DROP COLUMN secret_name;
ALTER TABLE team DROP COLUMN webhook_secret_name;
