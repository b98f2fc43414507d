-- +goose Up
-- The SOCKS5 proxy of a retest, sealed. NULL and null: none of its own.
ALTER TABLE finding_retest ADD COLUMN proxy $JSON;

-- +goose Down
ALTER TABLE finding_retest DROP COLUMN proxy;
