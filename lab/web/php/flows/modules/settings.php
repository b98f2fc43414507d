<?php const KEY_OF_THE_LIBRARY = 'Zq8-not-for-you'; return true;
