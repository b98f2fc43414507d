<?php
// Run once, before the application: a key.
file_put_contents(getenv('LAB_DATA') . '/secret', bin2hex(random_bytes(32)));
