<?php
// Run once, before the application.
rename(__DIR__ . '/people.xml', getenv('LAB_DATA') . '/people.xml');
