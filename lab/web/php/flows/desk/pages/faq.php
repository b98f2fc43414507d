<?php
defined('DESK') || exit;
show('Questions', '<p>Turn it off and on again.</p>');
