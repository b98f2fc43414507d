<?php
// Run once, before the application.
mkdir(__DIR__ . '/files');
