<?php
require 'api.php';
bearer();
$host = text(body(), 'host');
answer(['said' => trim((string)shell_exec('echo checking ' . (variant('weak') ? $host : escapeshellarg($host)) . ' 2>/dev/null'))]);
