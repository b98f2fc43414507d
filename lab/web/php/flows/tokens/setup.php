<?php
// Run once, before the application: keys.
file_put_contents(getenv('LAB_DATA') . '/secret', bin2hex(random_bytes(32)));
if (getenv('LAB_VARIANT') === 'kid') { mkdir(__DIR__ . '/keys'); file_put_contents(__DIR__ . '/keys/first', bin2hex(random_bytes(32)));
    file_put_contents(__DIR__ . '/keys/.htaccess', "Require all denied\n"); }
if (getenv('LAB_VARIANT') !== 'confusion') exit;
$key = openssl_pkey_new(['private_key_bits' => 2048]);
openssl_pkey_export($key, $pem);
file_put_contents(getenv('LAB_DATA') . '/private.pem', $pem);
file_put_contents(__DIR__ . '/public.pem', openssl_pkey_get_details($key)['key']);
